import { type MigrationInterface, type QueryRunner } from 'typeorm';

/**
 * A migration that others may write beside, however long it takes. It runs outside of a transaction, so it must be
 * repeatable: a process that dies in the middle begins again at the next start.
 */
export interface LiveMigration extends MigrationInterface {
  readonly isLive: true;
}

export function isLive(migration: MigrationInterface): migration is LiveMigration {
  return (migration as Partial<LiveMigration>).isLive === true;
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
export async function createIndexLive(
  runner: QueryRunner,
  schema: string,
  { name, table, on }: LiveIndex,
): Promise<void> {
  if (runner.isTransactionActive) return void (await runner.query(`CREATE INDEX ${name} ON ${schema}.${table} ${on}`));
  const broken = (await runner.query(
    `SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.relname = $2 AND NOT i.indisvalid`,
    [schema, name],
  )) as unknown as unknown[];
  // Left behind by a process that died. It would be maintained, and never used.
  if (broken.length > 0) await runner.query(`DROP INDEX CONCURRENTLY ${schema}.${name}`);
  await runner.query(`CREATE INDEX CONCURRENTLY IF NOT EXISTS ${name} ON ${schema}.${table} ${on}`);
}
