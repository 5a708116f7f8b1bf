import { type DataSource } from 'typeorm';
import {
  nameOf,
  readRecorded,
  readRecordedEarlier,
  isLive,
  type Migration,
  prepareRecord,
  recordMigration,
  recordStatements,
  validateSchemaName,
} from '../database';
import { orderTimeoutMigrations } from './migrations';
import { MIGRATION_LOCK } from './migrate';

/**
 * A migration of this release, or one that the schema records.
 * - `run`, `pending`: of this release.
 * - `newer`: of a newer release, which this one can work with or not (see `refuseNewerSchema`).
 */
export interface MigrationStatus {
  readonly name: string;
  readonly state: 'run' | 'pending' | 'newer';
}

/** Compares the migrations of this release with those that the schema records, in the order in which they run. */
export async function readMigrationStatus(dataSource: DataSource, schema: string): Promise<MigrationStatus[]> {
  const known = orderTimeoutMigrations(schema).map(nameOf);
  const recorded = (await readRecorded(dataSource, schema)) ?? (await readRecordedEarlier(dataSource, schema, known));
  const done = recorded.map(({ name }) => name);
  const ours = known.map((name) => ({ name, state: done.includes(name) ? ('run' as const) : ('pending' as const) }));
  const newer = done.filter((name) => !known.includes(name)).map((name) => ({ name, state: 'newer' as const }));
  return [...ours, ...newer];
}

interface Section {
  readonly statements: readonly string[];
  /** Whether they cannot run in a transaction. */
  readonly isAlone?: boolean;
}

const ALONE = '-- Outside of a transaction, because PostgreSQL builds no index in one without blocking writes.';

/**
 * The migrations that a schema lacks, as a script: for a database administrator who runs it with psql. It leaves what
 * `migrate` leaves, its record included. It is one transaction, unless the schema has tables that a live migration changes.
 *
 * @param dataSource is only read, to find out what is pending. Without it, all migrations are in the script.
 * @returns an empty string if nothing is pending.
 */
export async function migrationsSql(schema: string, dataSource?: DataSource): Promise<string> {
  validateSchemaName(schema);
  const all = orderTimeoutMigrations(schema);
  const pending = dataSource ? await pendingIn(dataSource, schema) : all.map(nameOf);
  if (pending.length === 0) return '';
  const ours = all.map(nameOf);
  let sections: readonly Section[] = [
    { statements: await schemaSql(schema, dataSource) },
    { statements: await recordStatements(dataSource, ({ tx }) => prepareRecord(tx, schema, ours)) },
  ];
  for (const migration of all.filter((one) => pending.includes(nameOf(one)))) {
    // Nobody writes to tables that this script creates.
    const isAlone = pending.length < all.length && isLive(new migration());
    const record = await recordStatements(dataSource, ({ tx }) => recordMigration(tx, schema, nameOf(migration), ours));
    sections = sections.concat(sectionsOf(migration, await upOf(migration, isAlone, dataSource), record, isAlone));
  }
  return script(sections);
}

function upOf(migration: Migration, isAlone: boolean, dataSource: DataSource | undefined): Promise<string[]> {
  return recordStatements(dataSource, ({ runner }) => new migration().up(runner), !isAlone);
}

function sectionsOf(
  migration: Migration,
  up: readonly string[],
  record: readonly string[],
  isAlone: boolean,
): Section[] {
  const title = `-- ${nameOf(migration)}`;
  if (!isAlone) return [{ statements: [title, ...up, ...record] }];
  return [{ isAlone, statements: [title, ALONE, ...up] }, { statements: record }];
}

/** Without IF NOT EXISTS where the schema is there: it would need the right to create schemas. */
async function schemaSql(schema: string, dataSource: DataSource | undefined): Promise<string[]> {
  const sql = 'SELECT 1 FROM pg_namespace WHERE nspname = $1';
  const found = dataSource ? await dataSource.query<unknown[]>(sql, [schema]) : [];
  return found.length > 0 ? [] : [`CREATE SCHEMA IF NOT EXISTS ${schema}`];
}

async function pendingIn(dataSource: DataSource, schema: string): Promise<string[]> {
  const status = await readMigrationStatus(dataSource, schema);
  return status.filter(({ state }) => state === 'pending').map(({ name }) => name);
}

/** While pg_dump reads a table, ALTER TABLE would wait for it, and all requests would wait behind that. */
const LOCK_LIMIT = `SET LOCAL lock_timeout = '1s';`;

/** In as few transactions as possible: a script that goes on after an error would leave half a schema. */
function script(sections: readonly Section[]): string {
  const texts: string[] = [];
  let isOpen = false;
  for (const { statements, isAlone = false } of sections.filter((section) => section.statements.length > 0)) {
    if (isOpen && isAlone) texts.push('COMMIT;');
    if (!isOpen && !isAlone) texts.push(`BEGIN;\nSELECT pg_advisory_xact_lock(${MIGRATION_LOCK});\n${LOCK_LIMIT}`);
    isOpen = !isAlone;
    texts.push(statements.map(terminated).join('\n'));
  }
  return [...texts, ...(isOpen ? ['COMMIT;'] : [])].join('\n\n') + '\n';
}

function terminated(statement: string): string {
  return statement.startsWith('--') ? statement : `${statement.trim()};`;
}
