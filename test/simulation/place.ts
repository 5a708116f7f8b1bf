import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { OrderTimeoutModule } from '../../src';
import { onServer, urlOf } from '../support/database';
import { HEARD } from './listener';
import { KEEP_PAST } from './past';

/** Where worlds are played, one after the other. */
export interface Place {
  readonly url: string;
  /** A new world has no orders. */
  empty(): Promise<void>;
  drop(): Promise<void>;
}

/** So that `now()` and `clock_timestamp()` are the world's, and deadlocks are noticed at once. */
const SETTINGS = [
  'search_path = sim, public, pg_catalog',
  'synchronous_commit = off',
  "deadlock_timeout = '5ms'",
  'jit = off',
  'join_collapse_limit = 1',
  'from_collapse_limit = 1',
];

/** A migrated database with a clock of its own. Needs a superuser. */
export async function openPlace(name: string, startMs: number): Promise<Place> {
  const drop = (): Promise<void> => onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  await drop();
  await onServer(`CREATE DATABASE ${name}`);
  for (const setting of SETTINGS) await onServer(`ALTER DATABASE ${name} SET ${setting}`);
  const url = urlOf(name);
  await onServer(clockSql(startMs), url);
  await migrate(url);
  await onServer(KEEP_PAST, url);
  return { url, drop, empty: () => onServer(EMPTY, url) };
}

/**
 * They stand before those of PostgreSQL in the search path. The time is a sequence, because every transaction sees the last
 * value of one. `sim.begun`: when the transaction began.
 */
function clockSql(startMs: number): string {
  // Without FROM, PL/pgSQL evaluates it without a plan.
  const instant = `to_timestamp(pg_sequence_last_value('sim.instant'::regclass) / 1000.0)`;
  return `
    CREATE SCHEMA sim;
    ${HEARD};
    CREATE SEQUENCE sim.instant;
    SELECT setval('sim.instant', ${startMs});
    CREATE FUNCTION sim.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ SELECT ${instant} $$;
    CREATE FUNCTION sim.now() RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
      DECLARE begun text := pg_catalog.current_setting('sim.begun', true);
      BEGIN IF begun <> '' THEN RETURN begun::timestamptz; END IF; RETURN ${instant}; END $$`;
}

/** History is append-only, but not for a replica. Of so few rows, DELETE is faster than TRUNCATE. */
const EMPTY = `
  DO $$ DECLARE name text; BEGIN
    SET LOCAL session_replication_role = replica;
    FOR name IN SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
                 WHERE schemaname = 'order_timeout' AND tablename NOT LIKE '%migration%'
                       AND tablename <> 'payment_name_key'
    LOOP EXECUTE 'DELETE FROM ' || name; END LOOP;
    DELETE FROM sim.heard; DELETE FROM sim.past_order; DELETE FROM sim.past_attempt;
    DELETE FROM sim.past_chargeback;
  END $$`;

async function migrate(url: string): Promise<void> {
  @Module({ imports: [OrderTimeoutModule.forRoot({ database: url, transport: 'none' })] })
  class Host {}
  await (await NestFactory.createApplicationContext(Host, { logger: ['error'] })).close();
}
