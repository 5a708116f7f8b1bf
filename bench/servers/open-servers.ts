import { join } from 'node:path';
import { Client } from 'pg';
import { type CleanUp } from '../../test/support/servers/clean-up';
import { OwnBroker } from '../../test/support/servers/own-broker';
import { OwnServer } from '../../test/support/servers/own-server';

/** One broker of the benchmark. */
export interface BenchBroker {
  readonly amqpUrl: string;
  readonly managementUrl: string;
  readonly folder: string;
  /** With the profile `plugin`: the `genuine` plugin, or our `stand-in`. */
  readonly delayedExchange: string | undefined;
}

/** The servers that all contestants share. */
export interface BenchServers {
  readonly databaseUrl: string;
  readonly plain: BenchBroker;
  readonly plugin: BenchBroker | undefined;
}

/**
 * What anybody who cares for speed sets on such a machine; the same for product, peers and floors. Durability stays
 * as it is by default: fsync, full_page_writes and synchronous_commit are on.
 */
export const POSTGRES_SETTINGS = {
  shared_buffers: '1GB',
  max_wal_size: '8GB',
  checkpoint_timeout: '30min',
  // When a row was committed, by the database's clock: how lateness and the end of a burst are measured.
  track_commit_timestamp: 'on',
} as const;

interface Wanted {
  /** For the servers' data. */
  readonly folder: string;
  readonly plugin: boolean;
  readonly statementStatistics: boolean;
}

/** Starts a PostgreSQL and one or two RabbitMQ of this run's own. */
export async function openServers(wanted: Wanted, cleanUp: CleanUp): Promise<BenchServers> {
  const [databaseUrl, plain, plugin] = await Promise.all([
    openDatabase(wanted.statementStatistics, cleanUp),
    openBroker('plain', wanted.folder, cleanUp),
    wanted.plugin ? openBroker('plugin', wanted.folder, cleanUp) : undefined,
  ]);
  return { databaseUrl, plain, plugin };
}

async function openDatabase(statementStatistics: boolean, cleanUp: CleanUp): Promise<string> {
  const server = await OwnServer.openServer('postgres');
  cleanUp.add('ending the database', () => server.close());
  const databaseUrl = server.text('databaseUrl');
  const settings = {
    ...POSTGRES_SETTINGS,
    ...(statementStatistics && { shared_preload_libraries: 'pg_stat_statements' }),
  };
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  for (const [name, value] of Object.entries(settings)) await client.query(`ALTER SYSTEM SET ${name} = '${value}'`);
  await client.end();
  await server.stop();
  await server.start();
  return databaseUrl;
}

async function openBroker(profile: 'plain' | 'plugin', parent: string, cleanUp: CleanUp): Promise<BenchBroker> {
  const folder = join(parent, `broker-${profile}`);
  const broker = await OwnBroker.open({ profile, directory: folder });
  cleanUp.add('ending the broker', () => broker.close());
  const { amqpUrl, managementUrl, delayedExchange } = broker;
  return { amqpUrl, managementUrl, delayedExchange, folder };
}
