import { type DataSource, type EntityManager, type MigrationInterface } from 'typeorm';
import { compatibleSince } from './compatible-since';

/** A name of our own: in a schema that a host shares with us by mistake, `migrations` may be the host's. */
const MIGRATIONS_TABLE = 'order_timeout_migrations';
/** Where the first releases recorded their migrations. */
const EARLIER_TABLE = 'migrations';
/**
 * Migrations that earlier releases can work with, and since which one. They have a table of their own, because releases that
 * know only the other tables refuse to start when they find an unknown name there.
 */
const COMPATIBLE_TABLE = 'order_timeout_compatible_migrations';
/** The tables that record our migrations. */
export const RECORD_TABLES: readonly string[] = [MIGRATIONS_TABLE, COMPATIBLE_TABLE];
/** Last migration of the last release that does not read the table of compatible migrations. */
const LAST_WITHOUT_COMPATIBLE = 'IndexUndecided1765200001000';

/** TypeORM takes the timestamp of a migration from the end of its name. */
const TIMESTAMP_DIGITS = 13;

type Connection = Pick<DataSource | EntityManager, 'query'>;
export type Migration = new () => MigrationInterface;

/** A migration that was run on a schema. */
export interface RecordedMigration {
  readonly name: string;
  /** Releases that know this migration work with it, too. */
  readonly compatibleSince?: string;
}

/** The name under which a migration is recorded. */
export function nameOf(migration: Migration): string {
  return new migration().name ?? migration.name;
}

/** The timestamp at the end of a migration's name; migrations run in this order. */
export function timestampOf(name: string): number {
  return Number(name.slice(-TIMESTAMP_DIGITS));
}

/** The migrations that our tables record; undefined when there are no such tables. */
export async function readRecorded(connection: Connection, schema: string): Promise<RecordedMigration[] | undefined> {
  const names = await readNames(connection, schema, MIGRATIONS_TABLE);
  if (names === undefined) return undefined;
  const compatible = await readCompatible(connection, schema);
  const others = names.filter((name) => compatible.every((one) => one.name !== name));
  return [...others.map((name) => ({ name })), ...compatible];
}

/** Those of `ours` that an earlier release has recorded, among rows that may be a host's. */
export async function readRecordedEarlier(
  connection: Connection,
  schema: string,
  ours: readonly string[],
): Promise<RecordedMigration[]> {
  const names = (await readNames(connection, schema, EARLIER_TABLE)) ?? [];
  return names.filter((name) => ours.includes(name)).map((name) => ({ name }));
}

/**
 * Makes our table, once, with what an earlier release has recorded. Call it in a transaction, under the lock. The earlier
 * table stays as it is, for releases that still read it.
 */
export async function prepareRecord(tx: EntityManager, schema: string, ours: readonly string[]): Promise<void> {
  if ((await readRecorded(tx, schema)) !== undefined) return;
  const earlier = await readRecordedEarlier(tx, schema, ours);
  await tx.query(`CREATE TABLE ${schema}.${MIGRATIONS_TABLE}
    (id serial PRIMARY KEY, "timestamp" bigint NOT NULL, name varchar NOT NULL)`);
  for (const { name } of sorted(earlier)) await insertName(tx, schema, MIGRATIONS_TABLE, name);
}

/**
 * Records a migration, in its transaction, in the tables of the releases that must know about it: an unknown name keeps a
 * release from starting.
 */
export async function recordMigration(
  tx: EntityManager,
  schema: string,
  name: string,
  ours: readonly string[],
): Promise<void> {
  const since = compatibleSince(name);
  if (since !== undefined) await insertCompatible(tx, schema, name, since);
  if (since !== undefined && timestampOf(since) <= timestampOf(LAST_WITHOUT_COMPATIBLE)) return;
  await insertName(tx, schema, MIGRATIONS_TABLE, name);
  const earlier = await readRecordedEarlier(tx, schema, ours);
  if (earlier.length > 0) await insertName(tx, schema, EARLIER_TABLE, name);
}

/** Each once: releases that started together may have recorded a name twice. */
function sorted(migrations: readonly RecordedMigration[]): RecordedMigration[] {
  const byName = new Map(migrations.map((migration) => [migration.name, migration]));
  return [...byName.values()].sort((a, b) => timestampOf(a.name) - timestampOf(b.name));
}

async function insertName(tx: EntityManager, schema: string, table: string, name: string): Promise<void> {
  await tx.query(`INSERT INTO ${schema}.${table} ("timestamp", name) VALUES ($1, $2)`, [timestampOf(name), name]);
}

async function insertCompatible(tx: EntityManager, schema: string, name: string, since: string): Promise<void> {
  await tx.query(`CREATE TABLE IF NOT EXISTS ${schema}.${COMPATIBLE_TABLE}
    (name text PRIMARY KEY, compatible_since text NOT NULL, run_at timestamptz NOT NULL DEFAULT now())`);
  const sql = `INSERT INTO ${schema}.${COMPATIBLE_TABLE} (name, compatible_since) VALUES ($1, $2)`;
  await tx.query(sql, [name, since]);
}

async function readCompatible(connection: Connection, schema: string): Promise<RecordedMigration[]> {
  if (!(await hasColumns(connection, schema, COMPATIBLE_TABLE, ['name', 'compatible_since']))) return [];
  const sql = `SELECT name, compatible_since AS "compatibleSince" FROM ${schema}.${COMPATIBLE_TABLE}`;
  return connection.query<RecordedMigration[]>(sql);
}

/** Undefined when there is no such table, or it is one of another tool. */
async function readNames(connection: Connection, schema: string, table: string): Promise<string[] | undefined> {
  if (!(await hasColumns(connection, schema, table, ['timestamp', 'name']))) return undefined;
  const rows = await connection.query<{ name: string }[]>(`SELECT name FROM ${schema}.${table}`);
  return rows.map(({ name }) => name);
}

async function hasColumns(
  connection: Connection,
  schema: string,
  table: string,
  columns: readonly string[],
): Promise<boolean> {
  const [found] = await connection.query<{ columns: number }[]>(
    `SELECT count(*)::int AS columns FROM pg_attribute a
       JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind = 'r' AND NOT a.attisdropped
        AND a.attname = ANY($3)`,
    [schema, table, columns],
  );
  return found?.columns === columns.length;
}
