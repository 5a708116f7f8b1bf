import { execFile } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { type Ring } from '../contestant';

const run = promisify(execFile);

interface PgbenchPlan {
  /** Its own variables too: `:client_id` and `:n`, which counts the transactions of a client from 0. */
  readonly script: readonly string[];
  readonly clients: number;
  /** Of each client. */
  readonly transactions: number;
  readonly variables?: Readonly<Record<string, number>>;
}

/** Debian keeps it beside the server; not every package of PostgreSQL has it. */
export function findPgbench(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort().reverse() : [];
  const folders = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter).filter(Boolean),
  ];
  return folders.map((folder) => join(folder, 'pgbench')).find((file) => existsSync(file));
}

/** Runs one script by prepared statements, with two threads. @returns transactions per second, without connecting. */
export async function runPgbench(ring: Ring, plan: PgbenchPlan): Promise<number> {
  const program = findPgbench();
  if (program === undefined) throw new Error('pgbench is not installed');
  const file = join(ring.folder, 'script.sql');
  // Statements become prepared ones as a whole; a line break ends a meta command.
  const script = ['\\set n :n + 1', ...plan.script.map((line) => (line.startsWith('\\') ? line : `${line};`))];
  writeFileSync(file, `${script.join('\n')}\n`);
  const { clients, transactions, variables = {} } = plan;
  const args = ['-n', '-M', 'prepared', '-f', file, '-c', String(clients), '-j', '2', '-t', String(transactions)];
  const defined = Object.entries({ n: -1, ...variables }).flatMap(([name, value]) => ['-D', `${name}=${value}`]);
  const { stdout } = await run(program, [...args, ...defined, ring.databaseUrl], { signal: ring.signal });
  const perSecond = Number(/tps = ([\d.]+) \(without initial connection time\)/.exec(stdout)?.[1]);
  const done = /number of transactions actually processed: (\d+)\/(\d+)/.exec(stdout);
  if (!(perSecond > 0) || done?.[1] !== done?.[2]) throw new Error(`pgbench did not do its work: ${stdout}`);
  return perSecond;
}
