import { type TopologyNames } from './topology-names';

type Prefixed = Pick<TopologyNames, 'prefix'>;

/** The permissions that a broker user of the service needs on its vhost, as regular expressions. */
export function servicePermissions({ prefix }: Prefixed): { configure: string; write: string; read: string } {
  const names = prefix.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const ours = `^${names}\\.`;
  // The default exchange takes the answers to commands.
  return { configure: ours, write: `^(amq\\.default$|${names}\\.)`, read: ours };
}

/** The vhost and the user of a URL, as the broker names them. */
export function loginOf(url: URL): { vhost: string; user: string } {
  const vhost = decodeURIComponent(url.pathname.slice(1)) || '/';
  return { vhost, user: decodeURIComponent(url.username) || 'guest' };
}

/** The command that gives the user of the URL what the service needs, ready to be pasted into a shell. */
export function permitCommand(url: URL, prefixed: Prefixed): string {
  const { vhost, user } = loginOf(url);
  const { configure, write, read } = servicePermissions(prefixed);
  return `rabbitmqctl set_permissions -p ${[vhost, user, configure, write, read].map(quoted).join(' ')}`;
}

/** One word of a POSIX shell. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
