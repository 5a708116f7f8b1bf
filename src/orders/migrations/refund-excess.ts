import { type MigrationInterface, type QueryRunner } from 'typeorm';

const REASONS = `'late', 'surplus', 'partial', 'operator'`;

/**
 * Refunds of the excess of an overpaid order. The payment stays with its order, so it may have a second refund, of the
 * rest.
 */
export function refundExcess(schema: string): new () => MigrationInterface {
  const [attempt, refund] = [`${schema}.payment_attempt`, `${schema}.refund`];
  return class RefundExcess1766000002500 implements MigrationInterface {
    readonly name = 'RefundExcess1766000002500';

    async up(runner: QueryRunner): Promise<void> {
      await runner.query(`ALTER TABLE ${attempt} ADD COLUMN refunded_amount bigint NOT NULL DEFAULT 0`);
      await runner.query(reasonSql(refund, `${REASONS}, 'overpaid'`));
      // One refund of the excess and one of the rest. The key is the last defense against refunding twice.
      await runner.query(`ALTER TABLE ${refund} DROP CONSTRAINT refund_attempt_key`);
      await runner.query(`
        CREATE UNIQUE INDEX refund_attempt_part ON ${refund} (provider, reference, merchant_account, (reason = 'overpaid'))`);
    }

    async down(runner: QueryRunner): Promise<void> {
      await runner.query(`DELETE FROM ${refund} WHERE reason = 'overpaid'`);
      await runner.query(`DROP INDEX ${schema}.refund_attempt_part`);
      await runner.query(
        `ALTER TABLE ${refund} ADD CONSTRAINT refund_attempt_key UNIQUE (provider, reference, merchant_account)`,
      );
      await runner.query(reasonSql(refund, REASONS));
      await runner.query(`ALTER TABLE ${attempt} DROP COLUMN refunded_amount`);
    }
  };
}

/** NOT VALID: all rows fit, because the check only allows more, and reading a large table would hold its lock. */
function reasonSql(refund: string, reasons: string): string {
  return `
    ALTER TABLE ${refund} DROP CONSTRAINT refund_reason_check,
      ADD CONSTRAINT refund_reason_check CHECK (reason IN (${reasons})) NOT VALID`;
}
