import { explainFailure } from './explain-failure';
import { plainRow } from './plain-row';
import { type Queryable } from './transaction';
import { UnusableTransactionError } from './unusable-transaction-error';

/** What only the host may send. */
const ENDING = /^\s*(START TRANSACTION|BEGIN|COMMIT|END|ABORT|PREPARE TRANSACTION|ROLLBACK(?!\s+TO\b))\b/i;

/** The connection of a host's transaction, with rows as `pg` gives them. It never begins or ends the transaction. */
export class HostConnection implements Queryable {
  constructor(private readonly tx: Queryable) {}

  async query(sql: string, parameters?: unknown[]): Promise<{ readonly rows: readonly object[] }> {
    if (ENDING.test(sql))
      throw new Error(`a statement of the package would begin or end the host's transaction: ${sql}`);
    try {
      const result = await this.tx.query(sql, parameters);
      if (!Array.isArray(result?.rows))
        throw new UnusableTransactionError('tx.query(sql, parameters) must return { rows }');
      return { ...result, rows: result.rows.map(plainRow) };
    } catch (error) {
      throw explainFailure(error);
    }
  }
}
