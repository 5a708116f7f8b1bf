import { DataSource } from 'typeorm';
import { validateSchemaName } from '../timeouts';
import { orderTimeoutMigrations } from './migrations';
import { NewerSchemaError } from './newer-schema-error';

const MIGRATIONS_TABLE = 'migrations';
/** Any fixed number will do: it keeps two instances that start together from migrating at once. */
const ADVISORY_LOCK = 7_263_001;
/** An index on a large table takes minutes, and whoever waits for the lock waits as long. Zero: pg sets nothing. */
const NO_LIMITS = { query_timeout: 0, statement_timeout: 0, idle_in_transaction_session_timeout: 0 };

/**
 * Brings the tables of this package, in a PostgreSQL schema of their own, up to date. Uses a short-lived
 * connection with the options of `host`, so the host's own migrations and entities are not touched. Safe to call from
 * several instances at once.
 *
 * @returns the names of the migrations that were run.
 * @throws NewerSchemaError when the database was migrated by a newer release.
 */
export async function migrate(host: DataSource, schema = 'order_timeout'): Promise<string[]> {
  validateSchemaName(schema);
  // Without the lock, nearly always: a connection that died silently while it held the lock would keep every start.
  if (await isUpToDate(host, schema)) return [];
  const dataSource = await openFor(host, schema);
  const lock = dataSource.createQueryRunner();
  try {
    await lock.query('SELECT pg_advisory_lock($1)', [ADVISORY_LOCK]);
    await lock.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await refuseNewerSchema(dataSource, schema);
    const done = await dataSource.runMigrations({ transaction: 'each' });
    return done.map((migration) => migration.name);
  } finally {
    await lock.query('SELECT pg_advisory_unlock($1)', [ADVISORY_LOCK]).catch(() => undefined);
    await lock.release();
    await dataSource.destroy();
  }
}

async function openFor(host: DataSource, schema: string): Promise<DataSource> {
  const { options } = host;
  if (options.type !== 'postgres') throw new TypeError('the DataSource must be of type "postgres"');
  const own = new DataSource({
    ...options,
    schema,
    entities: [],
    subscribers: [],
    migrations: orderTimeoutMigrations(schema),
    migrationsTableName: MIGRATIONS_TABLE,
    migrationsRun: false,
    synchronize: false,
    dropSchema: false,
    // One for the lock and one for the migrations, whatever the host allows itself.
    poolSize: 2,
    extra: { ...(options.extra as object | undefined), ...NO_LIMITS, max: 2 },
  });
  return own.initialize();
}

async function isUpToDate(host: DataSource, schema: string): Promise<boolean> {
  const done = await doneIn(host, schema);
  const known = orderTimeoutMigrations(schema).map((migration) => new migration().name ?? migration.name);
  return done.length === known.length && known.every((name) => done.includes(name));
}

async function refuseNewerSchema(dataSource: DataSource, schema: string): Promise<void> {
  const known = new Set(dataSource.migrations.map((migration) => migration.name));
  const unknown = (await doneIn(dataSource, schema)).filter((name) => !known.has(name));
  if (unknown.length > 0) throw new NewerSchemaError(schema, unknown);
}

/** Names of the migrations that were run. */
async function doneIn(dataSource: DataSource, schema: string): Promise<string[]> {
  const [table] = await dataSource.query<{ present: boolean }[]>(
    `SELECT to_regclass('${schema}.${MIGRATIONS_TABLE}') IS NOT NULL AS present`,
  );
  if (!table?.present) return [];
  const rows = await dataSource.query<{ name: string }[]>(`SELECT name FROM ${schema}.${MIGRATIONS_TABLE}`);
  return rows.map((row) => row.name);
}
