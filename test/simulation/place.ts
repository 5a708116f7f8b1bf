import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Client } from 'pg';
import { OrderTimeoutModule } from '../../src';
import { urlOf, serverUrl } from '../support/database';

/** Where worlds are played, one after the other. */
export interface Place {
  readonly url: string;
  /** A new world has no orders. */
  empty(): Promise<void>;
  drop(): Promise<void>;
}

/** So that `now()` and `clock_timestamp()` are the world's, and deadlocks are noticed at once. */
const SETTINGS = ['search_path = sim, public, pg_catalog', 'synchronous_commit = off', "deadlock_timeout = '5ms'"];

/** A migrated database with a clock of its own. Needs a superuser. */
export async function openPlace(name: string, startMs: number): Promise<Place> {
  await onServer(async (server) => {
    await server.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await server.query(`CREATE DATABASE ${name}`);
    for (const setting of SETTINGS) await server.query(`ALTER DATABASE ${name} SET ${setting}`);
  });
  const url = urlOf(name);
  await run(url, clockSql(startMs));
  await migrate(url);
  return {
    url,
    empty: () => run(url, EMPTY),
    drop: () =>
      onServer((server) => server.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`).then(() => undefined)),
  };
}

/**
 * They stand before those of PostgreSQL in the search path. The time is a sequence, because every transaction sees the last
 * value of one. `sim.begun`: when the transaction began.
 */
function clockSql(startMs: number): string {
  const instant = `SELECT to_timestamp(last_value / 1000.0) FROM sim.instant`;
  return `
    CREATE SCHEMA sim;
    CREATE SEQUENCE sim.instant START ${startMs};
    CREATE FUNCTION sim.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS
      $$ BEGIN RETURN (${instant}); END $$;
    CREATE FUNCTION sim.now() RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
      DECLARE begun text := pg_catalog.current_setting('sim.begun', true);
      BEGIN IF begun <> '' THEN RETURN begun::timestamptz; END IF; RETURN (${instant}); END $$`;
}

/** History is append-only, but not for a replica. */
const EMPTY = `
  DO $$ BEGIN
    SET LOCAL session_replication_role = replica;
    EXECUTE (SELECT 'TRUNCATE ' || string_agg(format('%I.%I', schemaname, tablename), ', ') || ' CASCADE'
               FROM pg_tables WHERE schemaname = 'order_timeout' AND tablename NOT LIKE '%migration%'
                    AND tablename <> 'payment_name_key');
  END $$`;

async function migrate(url: string): Promise<void> {
  @Module({ imports: [OrderTimeoutModule.forRoot({ database: url, transport: 'none' })] })
  class Host {}
  await (await NestFactory.createApplicationContext(Host, { logger: ['error'] })).close();
}

async function run(url: string, sql: string): Promise<void> {
  await onClient(url, (client) => client.query(sql));
}

function onServer<T>(work: (server: Client) => Promise<T>): Promise<T> {
  return onClient(serverUrl(), work);
}

async function onClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
