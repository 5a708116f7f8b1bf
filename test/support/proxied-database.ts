import { DataSource } from 'typeorm';
import { TcpProxy } from './servers/tcp-proxy';
import { createDatabase, type TestDatabase } from './database';

/** A database of the test's own behind a proxy: it can be unavailable for a while and come back. */
export interface ProxiedDatabase extends TestDatabase, Pick<TcpProxy, 'refuse' | 'accept'> {}

export async function createProxiedDatabase(): Promise<ProxiedDatabase> {
  const database = await createDatabase();
  const proxy = await TcpProxy.open(database.url);
  const dataSource = await new DataSource({
    type: 'postgres',
    url: proxy.url,
    poolErrorHandler: () => undefined,
  }).initialize();
  return {
    url: proxy.url,
    dataSource,
    refuse: () => proxy.refuse(),
    accept: () => proxy.accept(),
    drop: async () => {
      await dataSource.destroy();
      await proxy.shut();
      await database.drop();
    },
  };
}
