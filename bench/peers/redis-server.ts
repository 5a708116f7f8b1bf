import { OwnServer } from '../../test/support/servers/own-server';

/** When Redis brings what it wrote to the disk. Only `always` is as durable as a commit of PostgreSQL. */
export type AppendFsync = 'everysec' | 'always';

/** A Redis of one run's own; it ends with us, whatever happens. */
export interface RedisServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts one with an append-only file in a folder that it removes at the end. */
export async function startRedis(appendFsync: AppendFsync): Promise<RedisServer> {
  const server = await OwnServer.openServer('redis', '--appendfsync', appendFsync);
  return { url: server.text('redisUrl'), close: () => server.close() };
}
