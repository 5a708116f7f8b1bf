import { plainRow } from './plain-row';
import { type Queryable } from './transaction';
import { UnusableTransactionError } from './unusable-transaction-error';

/** What only the host may send, perhaps behind comments. */
export const ENDING =
  /^(?:\s|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*(START TRANSACTION|BEGIN|COMMIT|END|ABORT|PREPARE TRANSACTION|ROLLBACK(?!\s+TO\b))\b/i;

/** @throws for a statement that would begin or end a transaction */
export function assertNotEnding(sql: string): void {
  if (ENDING.test(sql)) throw new Error(`a statement of the package would begin or end the host's transaction: ${sql}`);
}

/** The connection of a host's transaction, with rows as `pg` gives them. It never begins or ends the transaction. */
export class HostConnection implements Queryable {
  constructor(private readonly tx: Queryable) {}

  async query(sql: string, parameters?: unknown[]): Promise<{ readonly rows: readonly object[] }> {
    assertNotEnding(sql);
    const answer: unknown = await this.tx.query(sql, parameters);
    // Of several statements in one text, which pg alone gets.
    const result = (Array.isArray(answer) ? answer.at(-1) : answer) as Partial<Awaited<ReturnType<Queryable['query']>>>;
    if (!Array.isArray(result?.rows))
      throw new UnusableTransactionError('tx.query(sql, parameters) must return { rows }');
    return { ...result, rows: result.rows.map(plainRow) };
  }
}
