import { type MigrationInterface, type QueryRunner } from 'typeorm';
import { ORDER_STATUSES } from '../order-status';
import { TRANSITION_CAUSES } from '../transition-cause';

/** Creates orders, their lines, attempts, and history, unmatched payments, and idempotency keys. */
export function createOrders(schema: string): new () => MigrationInterface {
  return class CreateOrders1763600000400 implements MigrationInterface {
    readonly name = 'CreateOrders1763600000400';

    async up(runner: QueryRunner): Promise<void> {
      for (const statement of [...orderTables(schema), ...historyTable(schema), ...sideTables(schema)]) {
        await runner.query(statement);
      }
    }

    async down(runner: QueryRunner): Promise<void> {
      const tables = ['idempotency_key', 'orphan_payment', 'order_history', 'payment_attempt', 'order_line', 'orders'];
      for (const table of tables) await runner.query(`DROP TABLE ${schema}.${table}`);
      await runner.query(`DROP FUNCTION ${schema}.refuse_history_change()`);
    }
  };
}

const oneOf = (values: readonly string[]): string => values.map((value) => `'${value}'`).join(', ');

/** Events and HTTP carry money as JSON numbers, so amounts that JSON numbers cannot represent exactly are rejected. */
const MAX_MONEY = Number.MAX_SAFE_INTEGER;
/** Rows change two or three times soon after they are written. The free space lets them change within their page. */
const BUSY = 'fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000';

function orderTables(schema: string): string[] {
  return [
    `CREATE TABLE ${schema}.orders (
       id                  text           PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9_:.-]{1,64}$'),
       merchant_id         text           NOT NULL DEFAULT 'default' CHECK (length(merchant_id) BETWEEN 1 AND 64),
       status              text           NOT NULL DEFAULT 'PENDING' CHECK (status IN (${oneOf(ORDER_STATUSES)})),
       version             int            NOT NULL DEFAULT 1,
       amount              bigint         NOT NULL CHECK (amount BETWEEN 1 AND ${MAX_MONEY}),
       currency            char(3)        NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
       expires_at          timestamptz(3) NOT NULL,
       auto_close          boolean        NOT NULL DEFAULT true,
       grace_ms            int            NOT NULL DEFAULT 0 CHECK (grace_ms >= 0),
       reminder_offsets_ms bigint[]       NOT NULL DEFAULT '{}',
       closing_reason      text           CHECK (closing_reason IN ('expired', 'cancelled')),
       metadata            jsonb,
       fingerprint         text           NOT NULL,
       created_at          timestamptz(3) NOT NULL DEFAULT now(),
       updated_at          timestamptz(3) NOT NULL DEFAULT now(),
       closed_at           timestamptz(3),
       paid_at             timestamptz(3)
     ) WITH (${BUSY})`,
    `CREATE TABLE ${schema}.order_line (
       order_id    text   NOT NULL REFERENCES ${schema}.orders,
       line_no     int    NOT NULL,
       sku         text   NOT NULL,
       quantity    int    NOT NULL CHECK (quantity > 0),
       unit_amount bigint NOT NULL CHECK (unit_amount BETWEEN 0 AND ${MAX_MONEY}),
       PRIMARY KEY (order_id, line_no)
     )`,
    `CREATE TABLE ${schema}.payment_attempt (
       provider         text           NOT NULL CHECK (length(provider) BETWEEN 1 AND 64),
       reference        text           NOT NULL CHECK (length(reference) BETWEEN 1 AND 128),
       order_id         text           NOT NULL REFERENCES ${schema}.orders,
       merchant_account text,
       status           text           NOT NULL CHECK (status IN (${oneOf(['CREATED', 'OPEN', 'PAID', 'CLOSED', 'UNKNOWN'])})),
       amount           bigint         NOT NULL CHECK (amount BETWEEN 1 AND ${MAX_MONEY}),
       currency         char(3)        NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
       time_expire      timestamptz(3),
       created_at       timestamptz(3) NOT NULL DEFAULT now(),
       updated_at       timestamptz(3) NOT NULL DEFAULT now(),
       paid_amount      bigint,
       paid_currency    char(3),
       paid_at          timestamptz(3),
       transaction_id   text,
       evidence         jsonb,
       PRIMARY KEY (provider, reference)
     ) WITH (${BUSY})`,
    `CREATE INDEX payment_attempt_order ON ${schema}.payment_attempt (order_id)`,
  ];
}

function historyTable(schema: string): string[] {
  return [
    // No foreign key to orders: the only statement that writes here takes the id from the order row that it has just
    // changed.
    `CREATE TABLE ${schema}.order_history (
       order_id    text           NOT NULL,
       version     int            NOT NULL,
       from_status text,
       to_status   text           NOT NULL,
       cause       text           NOT NULL CHECK (cause IN (${oneOf(TRANSITION_CAUSES)})),
       actor       text,
       reason      text,
       evidence    jsonb,
       traceparent text,
       occurred_at timestamptz(3) NOT NULL DEFAULT now(),
       PRIMARY KEY (order_id, version)
     )`,
    `CREATE FUNCTION ${schema}.refuse_history_change() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         RAISE EXCEPTION 'order_history is append-only' USING ERRCODE = 'restrict_violation';
       END $$`,
    `CREATE TRIGGER order_history_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ${schema}.order_history
       FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.refuse_history_change()`,
  ];
}

function sideTables(schema: string): string[] {
  return [
    // Money is never deleted. One row per report and reason, or a repeated notification would look like a second
    // payment.
    `CREATE TABLE ${schema}.orphan_payment (
       id         uuid           PRIMARY KEY,
       provider   text           NOT NULL,
       reference  text           NOT NULL,
       order_id   text,
       amount     bigint         NOT NULL,
       currency   text           NOT NULL,
       evidence   jsonb          NOT NULL,
       reason     text           NOT NULL,
       created_at timestamptz(3) NOT NULL DEFAULT now(),
       UNIQUE (provider, reference, reason)
     )`,
    `CREATE TABLE ${schema}.idempotency_key (
       scope       text        NOT NULL,
       key         text        NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
       fingerprint text        NOT NULL,
       response    jsonb       NOT NULL,
       created_at  timestamptz NOT NULL DEFAULT now(),
       PRIMARY KEY (scope, key)
     )`,
  ];
}
