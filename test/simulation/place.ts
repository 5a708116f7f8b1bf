import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { OrderTimeoutModule } from '../../src';
import { onServer, urlOf } from '../support/database';
import { Backends } from './backends';
import { HEARD } from './listener';
import { NOTED } from './own-timeouts';
import { KEEP_PAST } from './past';

/** Where worlds are played, one after the other. */
export interface Place {
  readonly url: string;
  readonly backends: Backends;
  /** A new world has no orders. What PostgreSQL draws in it comes from the seed. */
  empty(seed: number): Promise<void>;
  drop(): Promise<void>;
}

/** So that `now()` and `clock_timestamp()` are the world's, and deadlocks are noticed at once. */
const SETTINGS = [
  'search_path = sim, public, pg_catalog',
  'synchronous_commit = off',
  "deadlock_timeout = '5ms'",
  'jit = off',
  'plan_cache_mode = force_generic_plan',
  'track_counts = off',
  'track_activities = off',
  'update_process_title = off',
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
  await onServer(KEEP_STILL, url);
  const backends = await Backends.open(url);
  const empty = (seed: number): Promise<void> => backends.run(`SELECT setval('sim.drawn', ${seed + 1}); ${EMPTY}`);
  return { url, backends, empty, drop: () => backends.close().then(drop) };
}

/**
 * They stand before those of PostgreSQL in the search path. The time is a sequence, because every transaction sees the last
 * value of one. `sim.begun`: when the transaction began. Ids and jitter are drawn by counting, for the same reason.
 */
function clockSql(startMs: number): string {
  // Without FROM, PL/pgSQL evaluates it without a plan.
  const instant = `to_timestamp(pg_sequence_last_value('sim.instant'::regclass) / 1000.0)`;
  return `
    CREATE SCHEMA sim;
    ${HEARD};
    ${NOTED};
    CREATE SEQUENCE sim.drawn;
    CREATE FUNCTION sim.gen_random_uuid() RETURNS uuid LANGUAGE sql VOLATILE AS $$
      SELECT md5(nextval('sim.drawn'::regclass)::text)::uuid $$;
    CREATE FUNCTION sim.random() RETURNS float8 LANGUAGE sql VOLATILE AS $$
      SELECT ('x' || left(md5(nextval('sim.drawn'::regclass)::text), 8))::bit(32)::bigint / 4294967296.0::float8 $$;
    CREATE SEQUENCE sim.instant;
    SELECT setval('sim.instant', ${startMs});
    CREATE FUNCTION sim.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ SELECT ${instant} $$;
    CREATE FUNCTION sim.now() RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
      DECLARE begun text := pg_catalog.current_setting('sim.begun', true);
      BEGIN IF begun <> '' THEN RETURN begun::timestamptz; END IF; RETURN ${instant}; END $$`;
}

const TABLES = `
  SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
   WHERE schemaname IN ('order_timeout', 'sim') AND tablename NOT LIKE '%migration%' AND tablename <> 'payment_name_key'`;

/** Whether statistics change, and with them plans and the order of rows, does not depend on how fast the machine is. */
const KEEP_STILL = `
  DO $$ DECLARE name text; BEGIN
    FOR name IN ${TABLES} LOOP EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', name); END LOOP;
  END $$`;

/** History is append-only, but not for a replica. After DELETE, rows would lie elsewhere than in a new table. */
const EMPTY = `
  SELECT setval(format('%I.%I', schemaname, sequencename), start_value, false) FROM pg_sequences
   WHERE schemaname = 'order_timeout' AND last_value IS NOT NULL;
  DO $$ BEGIN
    SET LOCAL session_replication_role = replica;
    EXECUTE (SELECT 'TRUNCATE ' || string_agg(name, ', ') || ' CASCADE' FROM (${TABLES}) t WHERE pg_relation_size(name::regclass) > 0);
  END $$`;

async function migrate(url: string): Promise<void> {
  @Module({ imports: [OrderTimeoutModule.forRoot({ database: url, transport: 'none' })] })
  class Host {}
  await (await NestFactory.createApplicationContext(Host, { logger: ['error'] })).close();
}
