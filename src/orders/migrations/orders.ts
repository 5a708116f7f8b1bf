import { indexMigrationOf, type Migration, migrationOf } from '../../database';
import { ORDER_STATUSES } from '../model/order';
import { TRANSITION_CAUSES } from '../model/transition';
import {
  identifyHandledPayments,
  identifyPayments,
  indexEarlyMoney,
  noteAssignment,
  refundExcess,
  rememberPayments,
  rememberRefunds,
  resolveAccounts,
  renameUnmatchedPayment,
  settleAttempts,
  widenReferences,
} from './payments';

export function orderMigrations(schema: string): Migration[] {
  return [
    createOrders(schema),
    createRefunds(schema),
    identifyPayments(schema),
    letHistoryGo(schema),
    renameUnmatchedPayment(schema),
    indexOrders(schema),
    settleAttempts(schema),
    rememberPayments(schema),
    indexEarlyMoney(schema),
    resolveAccounts(schema),
    refundExcess(schema),
    rememberRefunds(schema),
    noteAssignment(schema),
    widenReferences(schema),
    identifyHandledPayments(schema),
  ];
}

function createOrders(schema: string): Migration {
  const tables = ['idempotency_key', 'orphan_payment', 'order_history', 'payment_attempt', 'order_line', 'orders'];
  return migrationOf(
    'CreateOrders1763600000400',
    [...orderTables(schema), ...historyTable(schema), ...sideTables(schema)],
    [...tables.map((table) => `DROP TABLE ${schema}.${table}`), `DROP FUNCTION ${schema}.refuse_history_change()`],
  );
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

const STATUSES = `'CREATED', 'OPEN', 'PAID', 'CLOSED', 'UNKNOWN'`;

function createRefunds(schema: string): Migration {
  return migrationOf(
    'CreateRefunds1763700000500',
    [
      statusesSql(schema, `${STATUSES}, 'REFUNDING', 'REFUNDED'`),
      `
        ALTER TABLE ${schema}.orphan_payment ADD COLUMN handling text NOT NULL DEFAULT 'kept'
          CHECK (handling IN ('kept', 'waiting', 'revived', 'refunding', 'adopted'))`,
      `CREATE INDEX orphan_payment_order ON ${schema}.orphan_payment (order_id)`,
      // One refund per attempt. The key is the last defense against refunding twice.
      `
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
        )`,
      `CREATE INDEX refund_order ON ${schema}.refund (order_id)`,
    ],
    [
      `DROP TABLE ${schema}.refund`,
      `DROP INDEX ${schema}.orphan_payment_order`,
      `ALTER TABLE ${schema}.orphan_payment DROP COLUMN handling`,
      `UPDATE ${schema}.payment_attempt SET status = 'PAID' WHERE status IN ('REFUNDING', 'REFUNDED')`,
      statusesSql(schema, STATUSES),
    ],
  );
}

function statusesSql(schema: string, statuses: string): string {
  return `
    ALTER TABLE ${schema}.payment_attempt DROP CONSTRAINT payment_attempt_status_check,
      ADD CONSTRAINT payment_attempt_status_check CHECK (status IN (${statuses}))`;
}

/**
 * For lists of orders, newest first. None of the columns ever changes: with the status in an index, each transition would
 * have to write to all indexes of the table, which it does not do today (HOT).
 */
export function indexOrders(schema: string): Migration {
  return indexMigrationOf('IndexOrders1765500001700', schema, 'orders', {
    orders_created: '(created_at, id)',
    orders_merchant: '(merchant_id, created_at, id)',
  });
}

/**
 * History stays append-only with two exceptions: entries of a deleted order may be deleted, and personal data may be
 * removed from the entries of an order that is marked as erased. Every other change is rejected.
 */
function letHistoryGo(schema: string): Migration {
  return migrationOf(
    'LetHistoryGo1765200000800',
    [
      `ALTER TABLE ${schema}.orders ADD COLUMN erased_at timestamptz(3)`,
      historyRuleSql(schema),
      `DROP TRIGGER order_history_append_only ON ${schema}.order_history`,
      `
        CREATE TRIGGER order_history_append_only BEFORE UPDATE OR DELETE ON ${schema}.order_history
           FOR EACH ROW EXECUTE FUNCTION ${schema}.guard_history()`,
      `
        CREATE TRIGGER order_history_no_truncate BEFORE TRUNCATE ON ${schema}.order_history
           FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.refuse_history_change()`,
    ],
    [
      `DROP TRIGGER order_history_no_truncate ON ${schema}.order_history`,
      `DROP TRIGGER order_history_append_only ON ${schema}.order_history`,
      `
        CREATE TRIGGER order_history_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ${schema}.order_history
           FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.refuse_history_change()`,
      `DROP FUNCTION ${schema}.guard_history()`,
      `ALTER TABLE ${schema}.orders DROP COLUMN erased_at`,
    ],
  );
}

/** Columns of an entry that may be cleared. All others stay as they are. */
const ERASABLE = ['actor', 'reason', 'evidence', 'traceparent'] as const;
const FIXED = ['order_id', 'version', 'from_status', 'to_status', 'cause', 'occurred_at'] as const;

function historyRuleSql(schema: string): string {
  const of = (row: string): string => FIXED.map((column) => `${row}.${column}`).join(', ');
  const onlyRemoved = ERASABLE.map((column) => `(NEW.${column} IS NULL OR NEW.${column} = OLD.${column})`).join(
    ' AND ',
  );
  return `
    CREATE FUNCTION ${schema}.guard_history() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'DELETE' THEN
        IF NOT EXISTS (SELECT 1 FROM ${schema}.orders o WHERE o.id = OLD.order_id) THEN RETURN OLD; END IF;
      ELSIF (${of('NEW')}) IS NOT DISTINCT FROM (${of('OLD')}) AND ${onlyRemoved} THEN
        IF EXISTS (SELECT 1 FROM ${schema}.orders o WHERE o.id = OLD.order_id AND o.erased_at IS NOT NULL) THEN
          RETURN NEW;
        END IF;
      END IF;
      RAISE EXCEPTION 'order_history is append-only' USING ERRCODE = 'restrict_violation',
        HINT = 'Entries go with their order; personal data goes by erasing it.';
    END $$`;
}
