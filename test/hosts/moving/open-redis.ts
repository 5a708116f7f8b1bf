import { OwnServer } from '../../support/servers/own-server';
import { loadPeer } from './load-peer';

/** What the tests use of `ioredis`. */
export interface Redis {
  zadd(key: string, ...scoresAndMembers: (string | number)[]): Promise<unknown>;
  set(key: string, value: string, unit?: 'PX', ms?: number): Promise<unknown>;
  eval(script: string, keyCount: number, ...args: (string | number | Buffer)[]): Promise<unknown>;
  zscan(key: string, cursor: string, count: 'COUNT', size: number): Promise<[string, string[]]>;
  zscanBuffer(key: string, cursor: string, count: 'COUNT', size: number): Promise<[Buffer, Buffer[]]>;
  scan(cursor: string, match: 'MATCH', pattern: string, count: 'COUNT', size: number): Promise<[string, string[]]>;
  pttl(key: string): Promise<number>;
  flushall(): Promise<unknown>;
  quit(): Promise<unknown>;
}

/** A Redis of the test's own, with the client that most applications have. */
export async function openRedis(): Promise<{ redis: Redis; port: number; close(): Promise<void> }> {
  const server = await OwnServer.openServer('redis');
  const port = Number(new URL(server.text('redisUrl')).port);
  const { Redis: Client } = loadPeer<{ Redis: new (port: number, host: string) => Redis }>('ioredis');
  const redis = new Client(port, '127.0.0.1');
  const close = async (): Promise<void> => {
    await redis.quit();
    await server.close();
  };
  return { redis, port, close };
}
