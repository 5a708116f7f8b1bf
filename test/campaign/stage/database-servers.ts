import { OwnServer } from '../../harness/servers/own-server';
import { Pgbouncer } from '../../harness/servers/pgbouncer';
import { ReplicatedDatabase } from '../../harness/servers/replicated-database';
import { TcpProxy } from '../../harness/servers/tcp-proxy';

/** PostgreSQL as the service meets it: one server, or a primary and its standby. */
export interface DatabaseServers {
  /** Of the primary, past all proxies. */
  readonly primaryUrl: string;
  /** By way of the proxies; names both servers where there are two. */
  readonly serviceUrl: string;
  /** The way to the primary. */
  readonly way: TcpProxy;
  /** kill -9 of the primary. */
  killPrimary(): Promise<void>;
  stopPrimary(): Promise<void>;
  startPrimary(): Promise<void>;
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
}

export function startDatabases({ hasStandby, usesPgbouncer }: DatabaseWish): Promise<DatabaseServers> {
  return hasStandby ? startBoth() : startOne(usesPgbouncer);
}

async function startOne(usesPgbouncer: boolean): Promise<DatabaseServers> {
  const server = await OwnServer.openScript('database.mjs');
  const primaryUrl = server.text('databaseUrl');
  const pooler = usesPgbouncer ? await Pgbouncer.open(primaryUrl) : undefined;
  const way = await TcpProxy.open(pooler?.through(primaryUrl) ?? primaryUrl);
  const none = (): Promise<never> => Promise.reject(new Error('this run has no standby'));
  return {
    ...{ primaryUrl, way, serviceUrl: way.through(primaryUrl), promote: none, rejoin: none },
    killPrimary: () => server.kill(),
    stopPrimary: () => server.stop(),
    startPrimary: () => server.start(),
    close: async () => {
      await way.shut();
      await pooler?.close();
      await server.close();
    },
  };
}

async function startBoth(): Promise<DatabaseServers> {
  const server = await ReplicatedDatabase.open();
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
    serviceUrl: severalHosts([...ways].map(([url, way]) => way.through(url))),
    killPrimary: () => server.killPrimary(),
    stopPrimary: () => server.stopPrimary(),
    startPrimary: () => server.startPrimary(),
    promote: () => server.promote(),
    rejoin: () => server.rejoin(),
    close: async () => {
      for (const way of ways.values()) await way.shut();
      await server.close();
    },
  };
}

/** As libpq has it: `postgres://user:password@host:port,host:port/database`. */
function severalHosts(urls: readonly string[]): string {
  const [first = ''] = urls;
  const hosts = urls.map((url) => new URL(url).host).join();
  return `${first.replace(new URL(first).host, hosts)}?target_session_attrs=read-write`;
}
