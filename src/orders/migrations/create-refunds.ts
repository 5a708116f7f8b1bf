import { type MigrationInterface, type QueryRunner } from 'typeorm';

const STATUSES = `'CREATED', 'OPEN', 'PAID', 'CLOSED', 'UNKNOWN'`;

/** Creates refunds, and the handling of unmatched payments. */
export function createRefunds(schema: string): new () => MigrationInterface {
  return class CreateRefunds1763700000500 implements MigrationInterface {
    readonly name = 'CreateRefunds1763700000500';

    async up(runner: QueryRunner): Promise<void> {
      await setStatuses(runner, schema, `${STATUSES}, 'REFUNDING', 'REFUNDED'`);
      await runner.query(`
        ALTER TABLE ${schema}.orphan_payment ADD COLUMN handling text NOT NULL DEFAULT 'kept'
          CHECK (handling IN ('kept', 'waiting', 'revived', 'refunding', 'adopted'))`);
      await runner.query(`CREATE INDEX orphan_payment_order ON ${schema}.orphan_payment (order_id)`);
      // One refund per attempt. The key is the last defense against refunding twice.
      await runner.query(`
        CREATE TABLE ${schema}.refund (
          number      text           PRIMARY KEY CHECK (number ~ '^[0-9a-f]{32}$'),
          provider    text           NOT NULL,
          reference   text           NOT NULL,
          order_id    text           NOT NULL REFERENCES ${schema}.orders,
          amount      bigint         NOT NULL CHECK (amount > 0),
          currency    text           NOT NULL,
          reason      text           NOT NULL CHECK (reason IN ('late', 'surplus', 'partial')),
          status      text           NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'REFUNDED')),
          refund_id   text,
          evidence    jsonb,
          created_at  timestamptz(3) NOT NULL DEFAULT now(),
          refunded_at timestamptz(3),
          UNIQUE (provider, reference),
          FOREIGN KEY (provider, reference) REFERENCES ${schema}.payment_attempt
        )`);
      await runner.query(`CREATE INDEX refund_order ON ${schema}.refund (order_id)`);
    }

    async down(runner: QueryRunner): Promise<void> {
      await runner.query(`DROP TABLE ${schema}.refund`);
      await runner.query(`DROP INDEX ${schema}.orphan_payment_order`);
      await runner.query(`ALTER TABLE ${schema}.orphan_payment DROP COLUMN handling`);
      await runner.query(
        `UPDATE ${schema}.payment_attempt SET status = 'PAID' WHERE status IN ('REFUNDING', 'REFUNDED')`,
      );
      await setStatuses(runner, schema, STATUSES);
    }
  };
}

async function setStatuses(runner: QueryRunner, schema: string, statuses: string): Promise<void> {
  await runner.query(`
    ALTER TABLE ${schema}.payment_attempt DROP CONSTRAINT payment_attempt_status_check,
      ADD CONSTRAINT payment_attempt_status_check CHECK (status IN (${statuses}))`);
}
