import { Logger } from '@nestjs/common';
import { type DataSource, type EntityManager, type MigrationInterface, type QueryRunner } from 'typeorm';
import { escapeLiteral } from 'pg';
import { SystemClock } from '../clock';
import { present } from '../errors';
import { ownTransaction } from './transaction';
import { isLockTimeout } from './database-errors';
import { LockedTablesError, NewerSchemaError, ExpectedRollback } from './errors';
import { onOwnConnection, interceptQueries } from './own-connection';

/**
 * ALTER TABLE waits for every session that reads the table, and all later ones queue behind it: while pg_dump runs, no order
 * could be placed. So it waits for a second, and lets the others go before it tries again.
 */
const LOCK_MS = 1_000;

const PAUSE_MS = 2_000;

const TRIES = 20;

/** After this time, the log says what a start is waiting for. */
const PATIENCE_MS = 10_000;

/** An index on a large table takes minutes. */
const UNLIMITED = { statementMs: 0, idleMs: 0 };

const clock = new SystemClock();

const logger = new Logger('Migrations');

/**
 * Runs one migration in a transaction of its own, with its record among `ours`. A live migration runs before that
 * transaction.
 *
 * @throws LockedTablesError when a table is in use for a minute.
 */
export async function runMigration(
  dataSource: DataSource,
  schema: string,
  migration: Migration,
  ours: readonly string[],
): Promise<void> {
  const name = nameOf(migration);
  const instance = new migration();
  if (isLive(instance)) {
    await runLive(dataSource, instance, name);
    return ownTransaction(dataSource, (tx) => recordMigration(tx, schema, name, ours), UNLIMITED);
  }
  const run = async (tx: EntityManager): Promise<void> => {
    await instance.up(present(tx.queryRunner, 'the query runner'));
    await recordMigration(tx, schema, name, ours);
  };
  for (let tries = 1; ; tries++) {
    try {
      return await ownTransaction(dataSource, run, { ...UNLIMITED, lockMs: LOCK_MS });
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      if (tries >= TRIES) throw new LockedTablesError(name, error);
      if (tries === 1) logger.warn(`${name} waits for a table that another session uses`);
      await clock.sleep(PAUSE_MS);
    }
  }
}

/** It blocks nobody, so it may wait: PostgreSQL waits for every older transaction in the database before an index is ready. */
async function runLive(dataSource: DataSource, migration: LiveMigration, name: string): Promise<void> {
  const note = clock.after(PATIENCE_MS, () =>
    logger.warn(`${name} builds an index, and waits for older transactions; see pg_stat_progress_create_index`),
  );
  try {
    await onOwnConnection(dataSource, 0, (runner) => applyLive(runner, migration));
  } catch (error) {
    throw isLockTimeout(error) ? new LockedTablesError(name, error) : error;
  } finally {
    note.cancel();
  }
}

/**
 * Accepts migrations that this release knows, and unknown ones that are compatible with a migration that it knows.
 *
 * @throws NewerSchemaError naming the others.
 */
export function refuseNewerSchema(
  schema: string,
  recorded: readonly RecordedMigration[],
  known: readonly string[],
): void {
  const unfit = recorded.filter(({ name, compatibleSince }) => !known.includes(name) && !isKnown(compatibleSince));
  if (unfit.length > 0) {
    throw new NewerSchemaError(
      schema,
      unfit.map(({ name }) => name),
    );
  }

  function isKnown(since: string | undefined): boolean {
    return since !== undefined && known.includes(since);
  }
}

/** Ends the transaction of a rehearsal. */
class RehearsalEnded extends ExpectedRollback {}

/**
 * Runs `work` in a transaction of our own that is rolled back, and returns its result: what it would do now. It takes
 * the same locks as the real work, for as long as the work takes.
 */
export async function rehearse<T>(dataSource: DataSource, work: (tx: EntityManager) => Promise<T>): Promise<T> {
  const outcome: { result?: T } = {};
  await ownTransaction(dataSource, async (tx) => {
    outcome.result = await work(tx);
    throw new RehearsalEnded('the transaction of a rehearsal is rolled back');
  }).catch((error: unknown) => {
    if (!(error instanceof RehearsalEnded)) throw error;
  });
  return outcome.result as T;
}

/**
 * A migration that others may write beside, however long it takes. It runs outside of a transaction, so it must be
 * repeatable: a process that dies in the middle begins again at the next start. Once all is there, it only reads.
 */
export interface LiveMigration extends MigrationInterface {
  readonly isLive: true;
}

export function isLive(migration: MigrationInterface): migration is LiveMigration {
  return (migration as Partial<LiveMigration>).isLive === true;
}

/** Each process that was killed beside an index may have left one statement at the server that undoes our work. */
const LIVE_TRIES = 10;

/** undefined_object, deadlock_detected, and what the server says of an index that goes while it is looked at. */
const BESIDE_OTHERS = ['42704', '40P01', 'XX000'];

/**
 * Repeats a migration until nothing is left to do. The statements of a process that was killed go on at the server: it may
 * still build an index, or drop the one that we have just built.
 */
export async function applyLive(runner: QueryRunner, migration: LiveMigration): Promise<void> {
  for (let tries = 1; ; tries++) {
    let hasWritten = false;
    const restore = interceptQueries(runner, (send) => (sql, ...rest) => {
      hasWritten ||= !READS.test(String(sql));
      return send(sql, ...rest);
    });
    try {
      await migration.up(runner);
      if (!hasWritten) return;
      if (tries >= LIVE_TRIES) throw new Error(`other sessions undid the migration ${LIVE_TRIES} times; start again`);
    } catch (error) {
      if (tries >= LIVE_TRIES || !BESIDE_OTHERS.includes(String((error as { code?: unknown }).code))) throw error;
    } finally {
      restore();
    }
  }
}

/** An index of one of our tables. */
interface LiveIndex {
  readonly name: string;
  readonly table: string;
  /** Columns and condition, as SQL. */
  readonly on: string;
}

/**
 * Creates an index without blocking writes. In a transaction, where PostgreSQL cannot do that, it creates it in the usual
 * way: a host may run our migrations in one transaction with its own.
 */
export async function createIndexLive(runner: QueryRunner, schema: string, index: LiveIndex): Promise<void> {
  const { name, table, on } = index;
  if (runner.isTransactionActive) return void (await runner.query(`CREATE INDEX ${name} ON ${schema}.${table} ${on}`));
  const isValid = await validityOf(runner, schema, name);
  if (isValid) return;
  // Left behind by a process that died. It would be maintained, and never used.
  if (isValid === false) await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS ${schema}.${name}`);
  await runner.query(`CREATE INDEX CONCURRENTLY IF NOT EXISTS ${name} ON ${schema}.${table} ${on}`);
}

/** Undefined: there is no such index. */
async function validityOf(runner: QueryRunner, schema: string, name: string): Promise<boolean | undefined> {
  const [index] = (await runner.query(
    `SELECT i.indisvalid AS valid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
       JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2`,
    [schema, name],
  )) as unknown as { valid: boolean }[];
  return index?.valid;
}

/** What writes statements: a migration through its runner, and the record of migrations through a manager. */
interface StatementRecorder {
  readonly tx: EntityManager;
  readonly runner: QueryRunner;
}

/** Statements of migrations that change nothing. */
const READS = /^\s*(?:SELECT|WITH)\b/i;

/**
 * Runs `write` and returns the statements that it would send, with their values in the text, instead of sending them.
 * Reads go to `reads`. Without it, every read finds nothing, as in an empty database.
 *
 * @param isInTransaction whether the statements will run in a transaction.
 */
export async function recordStatements(
  reads: Pick<DataSource, 'query'> | undefined,
  write: (recorder: StatementRecorder) => Promise<void>,
  isInTransaction = true,
): Promise<string[]> {
  const statements: string[] = [];
  const query = async (sql: string, values: unknown[] = []): Promise<unknown> => {
    if (READS.test(sql)) return reads ? reads.query(sql, values) : [];
    statements.push(withValues(sql, values));
    return [];
  };
  // Migrations and their record use nothing else of the two; anything more would fail here.
  const recorder = { tx: { query }, runner: { query, isTransactionActive: isInTransaction } };
  await write(recorder as unknown as StatementRecorder);
  return statements;
}

function withValues(sql: string, values: readonly unknown[]): string {
  return values.length === 0 ? sql : sql.replace(/\$(\d+)/g, (_, place: string) => literal(values[Number(place) - 1]));
}

function literal(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return escapeLiteral(value);
  throw new TypeError(`a value of type ${typeof value} cannot be written as SQL`);
}

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

/** The statements that give the service its rights. The owner of the tables runs them. @param to the user, as SQL text */
export function serviceRights(schema: string, to: string): string[] {
  return [
    `GRANT USAGE ON SCHEMA ${schema} TO ${to};`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${to};`,
    `GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${to};`,
    // PUBLIC has it, unless an administrator has revoked that.
    `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${schema} TO ${to};`,
    // Only the owner migrates.
    ...RECORD_TABLES.map((table) => `REVOKE INSERT, UPDATE, DELETE ON ${schema}.${table} FROM ${to};`),
  ];
}

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

/**
 * For each migration, the newest earlier migration that a release must know to run beside this one. Null, or not listed: stop
 * every instance of an earlier release first.
 *
 * A migration that only adds names the last one of the release before. So does one that renames a table and leaves a view
 * of the former name. A migration that removes what an earlier one replaced names that earlier one.
 */
export const COMPATIBLE_SINCE: Readonly<Record<string, string | null>> = {
  CreateOutbox1763600000100: null,
  CreateTimeouts1763600000200: null,
  CreateInventory1763600000300: null,
  CreateOrders1763600000400: null,
  CreateRefunds1763700000500: null,
  IdentifyPayments1764000000600: null,
  AddStockOwners1765100000700: null,
  LetHistoryGo1765200000800: null,
  IndexUndecided1765200001000: null,
  AddOutboxAge1765300001100: 'IndexUndecided1765200001000',
  RenameUnmatchedPayment1765400001200: 'IndexUndecided1765200001000',
  IndexOrders1765500001700: 'IndexUndecided1765200001000',
  SettleAttempts1766000001800: 'IndexUndecided1765200001000',
  RememberPayments1766000001900: 'IndexUndecided1765200001000',
  IndexEarlyMoney1766000002100: 'IndexUndecided1765200001000',
  ResolveAccounts1766000002200: 'IndexUndecided1765200001000',
  NoteFirstLookUp1766000002400: 'IndexUndecided1765200001000',
  RefundExcess1766000002500: 'IndexUndecided1765200001000',
  RememberRefunds1766000002600: 'IndexUndecided1765200001000',
  NoteAssignment1766000002700: 'IndexUndecided1765200001000',
  WidenReferences1766000002800: 'IndexUndecided1765200001000',
  IdentifyHandledPayments1766000002900: 'IndexUndecided1765200001000',
};

/** Undefined: no earlier release works beside this migration. */
export function compatibleSince(name: string): string | undefined {
  return COMPATIBLE_SINCE[name] ?? undefined;
}
