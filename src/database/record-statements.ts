import { escapeLiteral } from 'pg';
import { type DataSource, type EntityManager, type QueryRunner } from 'typeorm';

/** What writes statements: a migration through its runner, and the record of migrations through a manager. */
export interface StatementRecorder {
  readonly tx: EntityManager;
  readonly runner: QueryRunner;
}

/** Statements of migrations that change nothing. */
export const READS = /^\s*(?:SELECT|WITH)\b/i;

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
