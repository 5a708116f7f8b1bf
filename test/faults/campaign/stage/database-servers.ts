import { Client } from 'pg';
import { OwnServer } from '../../../support/servers/own-server';
import { Pgbouncer } from '../../../support/servers/pgbouncer';
import { ReplicatedDatabase } from '../../../support/servers/replicated-database';
import { SmallDisk } from '../../../support/servers/small-disk';
import { TcpProxy } from '../../../support/servers/tcp-proxy';
import { asService, SERVICE_LOGIN } from './service-login';

/** PostgreSQL as the service meets it: one server, or a primary and its standby. */
export interface DatabaseServers {
  /** Of the primary, past all proxies. */
  readonly primaryUrl: string;
  /** By way of the proxies; names both servers where there are two. */
  readonly serviceUrl: string;
  /** The way to the primary. */
  readonly way: TcpProxy;
  /** Holds its tables and indexes, but not its log. */
  readonly disk?: SmallDisk;
  /** kill -9 of the primary. */
  killPrimary(): Promise<void>;
  stopPrimary(): Promise<void>;
  startPrimary(): Promise<void>;
  /** kill -9: commits of the primary wait for it. */
  killStandby(): Promise<void>;
  /** The standby becomes the primary, once the primary is dead. */
  promote(): Promise<void>;
  /** The server that is down becomes the standby. */
  rejoin(): Promise<void>;
  close(): Promise<void>;
}

interface DatabaseWish {
  /** With synchronous replication. */
  readonly hasStandby: boolean;
  /** In transaction mode, before one server. */
  readonly usesPgbouncer: boolean;
  /** Only of one server: two on one machine cannot have a tablespace at the same place. */
  readonly hasSmallDisk: boolean;
}

export function startDatabases(wish: DatabaseWish): Promise<DatabaseServers> {
  return wish.hasStandby ? startBoth() : startOne(wish);
}

async function startOne({ usesPgbouncer, hasSmallDisk }: DatabaseWish): Promise<DatabaseServers> {
  const server = await OwnServer.openServer('postgres');
  const primaryUrl = server.text('databaseUrl');
  const disk = hasSmallDisk ? await moveToSmallDisk(primaryUrl) : undefined;
  await addServiceRole(primaryUrl);
  const pooler = usesPgbouncer ? await Pgbouncer.open(asService(primaryUrl)) : undefined;
  const way = await TcpProxy.open(pooler?.through(primaryUrl) ?? primaryUrl);
  const none = (): Promise<never> => Promise.reject(new Error('this run has no standby'));
  return {
    ...{ primaryUrl, way, serviceUrl: way.through(asService(primaryUrl)) },
    ...(disk && { disk }),
    ...{ killStandby: none, promote: none, rejoin: none },
    killPrimary: () => server.kill(),
    stopPrimary: () => server.stop(),
    startPrimary: () => server.start(),
    close: async () => {
      await way.shut();
      await pooler?.close();
      await server.close();
      disk?.unmount();
    },
  };
}

async function startBoth(): Promise<DatabaseServers> {
  const server = await ReplicatedDatabase.open();
  await addServiceRole(server.primaryUrl);
  const ways = new Map<string, TcpProxy>();
  for (const url of server.urls) ways.set(url, await TcpProxy.open(url));
  return {
    get primaryUrl() {
      return server.primaryUrl;
    },
    get way() {
      const way = ways.get(server.primaryUrl);
      if (!way) throw new Error(`no way leads to ${server.primaryUrl}`);
      return way;
    },
    serviceUrl: severalHosts([...ways].map(([url, way]) => way.through(asService(url)))),
    killPrimary: () => server.killPrimary(),
    stopPrimary: () => server.stopPrimary(),
    startPrimary: () => server.startPrimary(),
    killStandby: () => server.killStandby(),
    promote: () => server.promote(),
    rejoin: () => server.rejoin(),
    close: async () => {
      for (const way of ways.values()) await way.shut();
      await server.close();
    },
  };
}

/** A user as the documentation advises: it owns its schema, and is no superuser. */
async function addServiceRole(url: string): Promise<void> {
  const { username, password } = SERVICE_LOGIN;
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`CREATE ROLE ${username} LOGIN PASSWORD '${password}'`);
  await client.query(`GRANT CREATE ON DATABASE ${new URL(url).pathname.slice(1)} TO ${username}`);
  await client.end();
}

/** With room for far more orders than a run has. */
async function moveToSmallDisk(url: string): Promise<SmallDisk> {
  const other = new URL(url);
  other.pathname = 'postgres';
  // From a database that is not in use: the other one is moved.
  const client = new Client({ connectionString: other.href });
  await client.connect();
  const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
  const disk = SmallDisk.mount({ size: '1g', likeOwnerOf: rows[0]?.data_directory ?? '' });
  await client.query(`CREATE TABLESPACE small LOCATION '${disk.path}'`);
  await client.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET TABLESPACE small`);
  await client.end();
  return disk;
}

/** As libpq has it: `postgres://user:password@host:port,host:port/database`. */
function severalHosts(urls: readonly string[]): string {
  const [first = ''] = urls;
  const hosts = urls.map((url) => new URL(url).host).join();
  return `${first.replace(new URL(first).host, hosts)}?target_session_attrs=read-write`;
}
