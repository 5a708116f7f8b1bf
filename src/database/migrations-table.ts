import { type DataSource, type EntityManager, type MigrationInterface, type QueryRunner } from 'typeorm';

/** A name of our own: in a schema that a host shares with us by mistake, `migrations` may be the host's. */
export const MIGRATIONS_TABLE = 'order_timeout_migrations';
/** Where earlier releases recorded their migrations. */
const EARLIER_TABLE = 'migrations';

/** TypeORM takes the timestamp of a migration from the end of its name. */
const TIMESTAMP_DIGITS = 13;

type Connection = Pick<DataSource | EntityManager, 'query'>;
type Migration = new () => MigrationInterface;

/** The name under which TypeORM records a migration. */
export function nameOf(migration: Migration): string {
  return new migration().name ?? migration.name;
}

/** Names of the migrations that our table records; undefined when there is no such table. */
export function readRecorded(connection: Connection, schema: string): Promise<string[] | undefined> {
  return readNames(connection, schema, MIGRATIONS_TABLE);
}

/** Those of `ours` that an earlier release has recorded, among rows that may be a host's. */
export async function readRecordedEarlier(
  connection: Connection,
  schema: string,
  ours: readonly string[],
): Promise<string[]> {
  const names = (await readNames(connection, schema, EARLIER_TABLE)) ?? [];
  return names.filter((name) => ours.includes(name));
}

/**
 * Copies what an earlier release has recorded into our table, once. Call it in a transaction, under the lock. The earlier
 * table stays as it is, for releases that still read it.
 */
export async function takeOverRecorded(tx: EntityManager, schema: string, ours: readonly string[]): Promise<void> {
  if ((await readRecorded(tx, schema)) !== undefined) return;
  const names = await readRecordedEarlier(tx, schema, ours);
  if (names.length === 0) return;
  await tx.query(`CREATE TABLE ${schema}.${MIGRATIONS_TABLE}
    (id serial PRIMARY KEY, "timestamp" bigint NOT NULL, name varchar NOT NULL)`);
  await tx.query(
    `INSERT INTO ${schema}.${MIGRATIONS_TABLE} ("timestamp", name)
     SELECT DISTINCT ON (name) "timestamp", name FROM ${schema}.${EARLIER_TABLE} WHERE name = ANY($1) ORDER BY name`,
    [names],
  );
}

/**
 * The migrations, each recorded in the earlier table too where there is one with rows of ours: an earlier release reads
 * nothing else, and only a name that it does not know keeps it from starting on newer tables.
 */
export function recordedEarlierToo(schema: string, migrations: readonly Migration[]): Migration[] {
  const ours = migrations.map(nameOf);
  return migrations.map((migration) => {
    const name = nameOf(migration);
    return class implements MigrationInterface {
      readonly name = name;
      private readonly original = new migration();

      async up(runner: QueryRunner): Promise<void> {
        await this.original.up(runner);
        if ((await readRecordedEarlier(runner.manager, schema, ours)).length === 0) return;
        const sql = `INSERT INTO ${schema}.${EARLIER_TABLE} ("timestamp", name) VALUES ($1, $2)`;
        await runner.query(sql, [Number(name.slice(-TIMESTAMP_DIGITS)), name]);
      }

      down(runner: QueryRunner): Promise<void> {
        return this.original.down(runner);
      }
    };
  });
}

/** Undefined when there is no such table, or it is one of another tool. */
async function readNames(connection: Connection, schema: string, table: string): Promise<string[] | undefined> {
  const [found] = await connection.query<{ columns: number }[]>(
    `SELECT count(*)::int AS columns FROM pg_attribute a
       JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind = 'r' AND NOT a.attisdropped
        AND a.attname IN ('timestamp', 'name')`,
    [schema, table],
  );
  if (found?.columns !== 2) return undefined;
  const rows = await connection.query<{ name: string }[]>(`SELECT name FROM ${schema}.${table}`);
  return rows.map(({ name }) => name);
}
