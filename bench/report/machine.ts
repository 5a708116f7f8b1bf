import { execFileSync } from 'node:child_process';
import { cpus, release, totalmem } from 'node:os';
import { Client } from 'pg';
import { type BenchServers, POSTGRES_SETTINGS } from '../servers/open-servers';

/** Where and with what it was measured. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
  readonly postgresql: string;
  readonly postgresqlSettings: Readonly<Record<string, string>>;
  readonly rabbitmq: string;
  readonly erlang: string;
  readonly delayedExchange: string | undefined;
  /** Of the sources; with `+` when they have changed since. */
  readonly commit: string;
}

/** Asks the machine and the servers what they are. */
export async function describeMachine(servers: BenchServers): Promise<Machine> {
  const client = new Client({ connectionString: servers.databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ version: string }>(`SELECT current_setting('server_version') AS version`);
  await client.end();
  const { rabbitmq, erlang } = await brokerVersions(servers.plain.managementUrl);
  const [first] = cpus();
  return {
    cpu: first?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    postgresql: rows[0]?.version ?? 'unknown',
    postgresqlSettings: POSTGRES_SETTINGS,
    rabbitmq,
    erlang,
    delayedExchange: servers.plugin?.delayedExchange,
    commit: commit(),
  };
}

async function brokerVersions(managementUrl: string): Promise<{ rabbitmq: string; erlang: string }> {
  const { origin, username, password } = new URL(managementUrl);
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const answer = await fetch(`${origin}/api/overview`, { headers: { authorization } });
  const overview = (await answer.json()) as { rabbitmq_version: string; erlang_version: string };
  return { rabbitmq: overview.rabbitmq_version, erlang: overview.erlang_version };
}

/** A copy without git's folder has no commit. */
function commit(): string {
  try {
    const git = (...args: string[]): string =>
      execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain', 'src') === '' ? '' : '+');
  } catch {
    return 'unknown';
  }
}
