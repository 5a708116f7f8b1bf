import { type MigrationInterface, type QueryRunner } from 'typeorm';
import { interceptQueries } from './intercept-queries';
import { READS } from './record-statements';

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
const TRIES = 10;
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
      if (tries >= TRIES) throw new Error(`other sessions undid the migration ${TRIES} times; start again`);
    } catch (error) {
      if (tries >= TRIES || !BESIDE_OTHERS.includes(String((error as { code?: unknown }).code))) throw error;
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
