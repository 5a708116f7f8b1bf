import { type TopologyNames } from './topology-names';

/** The permissions that a broker user of the service needs on its vhost, as regular expressions. */
export function servicePermissions({ prefix }: TopologyNames): { configure: string; write: string; read: string } {
  const names = prefix.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const ours = `^${names}\\.`;
  // The default exchange takes the answers to commands.
  return { configure: ours, write: `^(amq\\.default$|${names}\\.)`, read: ours };
}
