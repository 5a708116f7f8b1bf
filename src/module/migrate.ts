import { DataSource, type EntityManager } from 'typeorm';
import {
  type Migration,
  nameOf,
  ownTransaction,
  prepareRecord,
  readRecorded,
  type RecordedMigration,
  refuseNewerSchema,
  runMigration,
  validateSchemaName,
} from '../database';
import { refuseCurrentSchema, refuseSharedSchema } from '../timeouts';
import { refuseChange, refuseUse } from './missing-rights';
import { orderTimeoutMigrations } from './migrations';

/** Any fixed number will do: it keeps two instances that start together from migrating at once. */
const ADVISORY_LOCK = 7_263_001;
/** An index on a large table takes minutes, and whoever waits for the lock waits as long. Zero: pg sets nothing. */
const NO_LIMITS = { query_timeout: 0, statement_timeout: 0, idle_in_transaction_session_timeout: 0 };
const UNLIMITED = { statementMs: 0, idleMs: 0 };

/** What to migrate. */
export interface MigrationTarget {
  readonly dataSource: DataSource;
  readonly schema: string;
  /** Nothing but our tables is ever created through this DataSource, so our schema may be its current one. */
  readonly ownsDatabase: boolean;
}

/**
 * Brings the tables of this package, in a PostgreSQL schema of their own, up to date. Uses a short-lived
 * connection with the options of `host`, so the host's own migrations and entities are not touched. Safe to call from
 * several instances at once.
 *
 * @returns the names of the migrations that were run.
 * @throws NewerSchemaError when the database was migrated by a newer release that this one cannot run beside.
 * @throws SharedSchemaError when the host's own tables would be created in the same schema.
 * @throws LockedTablesError when another session keeps a table of ours in use.
 * @throws MissingRightsError when the database user may not create or change our tables.
 */
export function migrate(host: DataSource, schema = 'order_timeout'): Promise<string[]> {
  return migrateTarget({ dataSource: host, schema, ownsDatabase: false });
}

/** `migrate`, for a DataSource that may be the service's own. */
export async function migrateTarget(target: MigrationTarget): Promise<string[]> {
  const { dataSource: host, schema, ownsDatabase } = target;
  validateSchemaName(schema);
  if (!ownsDatabase) await refuseSharedSchema(host, schema);
  // Without the lock, nearly always: a connection that died silently while it held the lock would keep every start.
  if (await isUpToDate(host, schema)) return [];
  const dataSource = await openFor(host, schema);
  try {
    return await ownTransaction(dataSource, (lock) => alone(lock, dataSource, target), UNLIMITED);
  } catch (error) {
    return await refuseChange(host, schema, error);
  } finally {
    await dataSource.destroy();
  }
}

/**
 * The lock lasts as long as its transaction. A session lock would stay behind in a pooler that pools by transaction, because
 * it sends the unlocking to another session.
 */
async function alone(lock: EntityManager, dataSource: DataSource, target: MigrationTarget): Promise<string[]> {
  await lock.query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCK]);
  await ownTransaction(dataSource, (tx) => prepareSchema(tx, target), UNLIMITED);
  return runPending(dataSource, target.schema);
}

/** In one transaction, so that a schema that is refused is rolled back and nobody ever sees it. */
async function prepareSchema(tx: EntityManager, { schema, ownsDatabase }: MigrationTarget): Promise<void> {
  const [there] = await tx.query<unknown[]>('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  // IF NOT EXISTS would need the right to create it even where it exists.
  if (there === undefined) await tx.query(`CREATE SCHEMA ${schema}`);
  // Only now is it in the search_path of a user who is called like it.
  if (!ownsDatabase) await refuseCurrentSchema(tx, schema);
  await prepareRecord(tx, schema, namesOf(schema));
}

async function openFor(host: DataSource, schema: string): Promise<DataSource> {
  const { options } = host;
  if (options.type !== 'postgres') throw new TypeError('the DataSource must be of type "postgres"');
  const own = new DataSource({
    ...options,
    schema,
    entities: [],
    subscribers: [],
    migrations: [],
    migrationsRun: false,
    synchronize: false,
    dropSchema: false,
    // One for the lock and one for the migrations, whatever the host allows itself.
    poolSize: 2,
    extra: { ...(options.extra as object | undefined), ...NO_LIMITS, max: 2 },
  });
  return own.initialize();
}

const namesOf = (schema: string): string[] => orderTimeoutMigrations(schema).map(nameOf);

async function isUpToDate(host: DataSource, schema: string): Promise<boolean> {
  const recorded = (await readRecorded(host, schema).catch((error: unknown) => refuseUse(host, schema, error))) ?? [];
  return pendingOf(recorded, schema).length === 0;
}

/** Runs each in a transaction of its own, with its record. Call it under the lock. */
async function runPending(dataSource: DataSource, schema: string): Promise<string[]> {
  const pending = pendingOf((await readRecorded(dataSource, schema)) ?? [], schema);
  for (const migration of pending) await runMigration(dataSource, schema, migration, namesOf(schema));
  return pending.map(nameOf);
}

/** @throws NewerSchemaError */
function pendingOf(recorded: readonly RecordedMigration[], schema: string): Migration[] {
  refuseNewerSchema(schema, recorded, namesOf(schema));
  return orderTimeoutMigrations(schema).filter((one) => recorded.every(({ name }) => name !== nameOf(one)));
}
