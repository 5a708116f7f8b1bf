import { DataSource, type EntityManager } from 'typeorm';
import { SystemClock } from '../clock';
import { messageOf, optionsOf, parseOptions } from '../errors';
import {
  connectionOptions,
  databaseOptions,
  type Migration,
  nameOf,
  ownTransaction,
  prepareRecord,
  readRecorded,
  type RecordedMigration,
  refuseNewerSchema,
  runMigration,
  validateSchemaName,
  isPermissionDenied,
} from '../database';
import { refuseCurrentSchema, refuseSharedSchema, MissingRightsError } from '../timeouts';
import { orderTimeoutMigrations } from './migrations';

/** Pause between two attempts to get the lock. */
const PAUSE_MS = 100;

/** An index on a large table takes minutes, and other instances wait that long for the lock. Zero: pg sets no limit. */
const NO_LIMITS = { query_timeout: 0, statement_timeout: 0, idle_in_transaction_session_timeout: 0 };

const UNLIMITED = { statementMs: 0, idleMs: 0 };

const clock = new SystemClock();

interface MigrationTarget {
  readonly dataSource: DataSource;
  readonly schema: string;
  /** Only our tables are created through this DataSource, so our schema may be its current schema. */
  readonly ownsDatabase: boolean;
}

/**
 * Migrates the tables of this package, which have their own PostgreSQL schema. Uses a short-lived connection with the
 * options of `host`, so the host's migrations and entities are not affected. Several instances may call it at once.
 *
 * @param host a connected DataSource, or the URL of the server
 * @returns the names of the migrations that were run.
 * @throws NewerSchemaError if a newer release, which this one cannot work with, has migrated the schema.
 * @throws SharedSchemaError if the host's tables would be created in the same schema.
 * @throws LockedTablesError if another session keeps one of our tables locked.
 * @throws MissingRightsError if the database user may not create or change our tables.
 */
export async function migrate(host: DataSource | string, schema = 'order_timeout'): Promise<string[]> {
  if (typeof host !== 'string') return migrateTarget({ dataSource: host, schema, ownsDatabase: false });
  const { database } = parseOptions('migrate', optionsOf({ database: databaseOptions }), { database: host });
  const dataSource = await new DataSource(connectionOptions(database)).initialize();
  try {
    return await migrateTarget({ dataSource, schema, ownsDatabase: true });
  } finally {
    await dataSource.destroy();
  }
}

/** `migrate`, for a DataSource that may be the service's own. */
export async function migrateTarget(target: MigrationTarget): Promise<string[]> {
  const { dataSource: host, schema, ownsDatabase } = target;
  validateSchemaName(schema);
  if (!ownsDatabase) await refuseSharedSchema(host, schema);
  // Nearly always up to date, so the lock is not taken: a dead connection that still holds it would block every start.
  if (await isUpToDate(host, schema)) return [];
  const dataSource = await openFor(host, schema);
  try {
    for (;;) {
      const names = await ownTransaction(dataSource, (lock) => runAlone(lock, dataSource, target), UNLIMITED);
      if (names) return names;
      await clock.sleep(PAUSE_MS);
    }
  } catch (error) {
    return await refuseChange(host, schema, error);
  } finally {
    await dataSource.destroy();
  }
}

/**
 * Undefined: another instance migrates. Holds the lock for its transaction. A session lock would never be released behind a
 * pooler that pools by transaction, because the pooler sends the unlock to another session.
 *
 * Whoever waits asks again and again, each time in a transaction of its own: an index that is built live waits for the end of
 * every transaction that had a snapshot at a certain moment, be it of this statement. It waited for ever for one that itself
 * went on waiting for the lock. Without a parameter: with one, pg keeps the portal of the holder's statement open, and with
 * it the snapshot.
 */
async function runAlone(
  lock: EntityManager,
  dataSource: DataSource,
  target: MigrationTarget,
): Promise<string[] | undefined> {
  const [row] = await lock.query<{ granted: boolean }[]>(
    `SELECT pg_try_advisory_xact_lock(${MIGRATION_LOCK}) AS granted`,
  );
  if (row?.granted !== true) return undefined;
  await ownTransaction(dataSource, (tx) => prepareSchema(tx, target), UNLIMITED);
  return runPending(dataSource, target.schema);
}

/** In one transaction, so a refused schema is rolled back and never visible. */
async function prepareSchema(tx: EntityManager, { schema, ownsDatabase }: MigrationTarget): Promise<void> {
  const [there] = await tx.query<unknown[]>('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  // IF NOT EXISTS needs the right to create schemas even if the schema exists.
  if (there === undefined) await tx.query(`CREATE SCHEMA ${schema}`);
  // Checked only now: once it exists, a schema with the user's name is in the user's search_path.
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
    // One connection for the lock and one for the migrations, whatever the host's pool size is.
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

/** Runs each pending migration in its own transaction, together with its record. Call it under the lock. */
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

/** @throws MissingRightsError if `error` means that our tables may not be read. Otherwise throws `error`. */
async function refuseUse(host: DataSource, schema: string, error: unknown): Promise<never> {
  if (!isPermissionDenied(error)) throw error;
  const { user } = await factsOf(host, schema);
  throw MissingRightsError.toUse(schema, user, 'the right to read our tables');
}

/**
 * @throws MissingRightsError if `error` means that our tables may not be created or changed. Otherwise throws `error`.
 */
async function refuseChange(host: DataSource, schema: string, error: unknown): Promise<never> {
  if (!isPermissionDenied(error)) throw error;
  const { user, database, present } = await factsOf(host, schema);
  const why = messageOf(error);
  const separately = `call migrate(dataSource, '${schema}') as the owner of the tables and start with migrate: false`;
  const remedy = present
    ? separately
    : `run as an administrator: CREATE SCHEMA ${schema} AUTHORIZATION ${user}; or ${separately}`;
  throw new MissingRightsError(
    `the database user ${user} may not create or change our tables in schema "${schema}" of database "${database}" (${why}); ${remedy}`,
    { cause: error },
  );
}

interface Facts {
  readonly user: string;
  readonly database: string;
  readonly present: boolean;
}

async function factsOf(host: DataSource, schema: string): Promise<Facts> {
  const [facts] = await host.query<Facts[]>(
    `SELECT quote_ident(current_user) AS user, current_database() AS database,
            EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1) AS present`,
    [schema],
  );
  return facts ?? { user: 'unknown', database: 'unknown', present: true };
}

/** An arbitrary fixed number. Keeps two instances that start together from migrating at the same time. */
export const MIGRATION_LOCK = 7_263_001;
