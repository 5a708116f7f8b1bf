import { type MigrationInterface, type QueryRunner } from 'typeorm';
import { ATTEMPT_STATUSES } from '../attempt-status';

const BEFORE = ATTEMPT_STATUSES.filter((status) => status !== 'SETTLED');

/** Records on attempts that a person has settled their payments, so that it outlives the rows of unmatched money. */
export function settleAttempts(schema: string): new () => MigrationInterface {
  return class SettleAttempts1766000001800 implements MigrationInterface {
    readonly name = 'SettleAttempts1766000001800';

    async up(runner: QueryRunner): Promise<void> {
      await runner.query(statusSql(schema, ATTEMPT_STATUSES));
      // What was decided before. A mismatch is about a claim, and its order may need the money.
      await runner.query(`
        UPDATE ${schema}.payment_attempt a SET status = 'SETTLED', updated_at = now()
          FROM ${schema}.unmatched_payment p
         WHERE p.handling = 'settled' AND p.reason IN ('late', 'surplus', 'amount-mismatch', 'currency-mismatch')
               AND a.provider = p.provider AND a.reference = p.reference AND a.merchant_account = p.merchant_account
               AND a.order_id = p.order_id AND a.status = 'PAID'`);
    }

    async down(runner: QueryRunner): Promise<void> {
      await runner.query(`UPDATE ${schema}.payment_attempt SET status = 'PAID' WHERE status = 'SETTLED'`);
      await runner.query(statusSql(schema, BEFORE));
    }
  };
}

/** NOT VALID: all rows fit, because the check only allows more, and reading a large table would hold its lock. */
function statusSql(schema: string, statuses: readonly string[]): string {
  const list = statuses.map((status) => `'${status}'`).join(', ');
  return `
    ALTER TABLE ${schema}.payment_attempt DROP CONSTRAINT payment_attempt_status_check,
      ADD CONSTRAINT payment_attempt_status_check CHECK (status IN (${list})) NOT VALID`;
}
