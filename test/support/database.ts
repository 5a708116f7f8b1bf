import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';

/** Name of the migrated database that every test file gets a copy of; made by global-setup. */
export const TEMPLATE_ENV = 'ORDER_TIMEOUT_TEST_TEMPLATE';

export interface TestDatabase {
  readonly url: string;
  readonly dataSource: DataSource;
  /** Ends all connections and drops the database. */
  drop(): Promise<void>;
}

export function serverUrl(): string {
  const url = process.env.DATABASE_URL;
  if (!url) throw new Error('DATABASE_URL is not set: run the tests by `npm test -- <jest arguments>`');
  return url;
}

export function urlOf(database: string, server = serverUrl()): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.toString();
}

export function connectTo(url: string, poolSize = 20, extra: object = {}): Promise<DataSource> {
  return new DataSource({ type: 'postgres', url, poolSize, extra, entities: [] }).initialize();
}

/** Runs one statement on the server's own database, where CREATE DATABASE is allowed. */
export async function onServer(sql: string, url = serverUrl()): Promise<void> {
  const server = await connectTo(url, 1);
  try {
    await server.query(sql);
  } finally {
    await server.destroy();
  }
}

/** A fresh, migrated database for one test file (about 100 ms, copied from the template). @param extra options of its pool */
export async function createDatabase(extra: object = {}): Promise<TestDatabase> {
  const name = `ot_test_${randomUUID().replaceAll('-', '').slice(0, 16)}`;
  await onServer(`CREATE DATABASE ${name} TEMPLATE ${process.env[TEMPLATE_ENV] ?? 'template1'}`);
  const url = urlOf(name);
  const dataSource = await connectTo(url, undefined, extra);
  return {
    url,
    dataSource,
    drop: async () => {
      if (dataSource.isInitialized) await dataSource.destroy();
      await onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}
