import { type MigrationInterface, type QueryRunner } from 'typeorm';

const STATUSES = `'CREATED', 'OPEN', 'PAID', 'CLOSED', 'UNKNOWN', 'REFUNDING', 'REFUNDED'`;
const REASONS = `'late', 'surplus', 'partial'`;
const HANDLINGS = `'kept', 'waiting', 'revived', 'refunding', 'adopted'`;

/**
 * Makes the merchant account part of a payment's identity, and stores who vouches for a payment and who settled an
 * unmatched payment. Not compatible with a running instance of the previous release, which inserts by the old key.
 */
export function identifyPayments(schema: string): new () => MigrationInterface {
  return class IdentifyPayments1764000000600 implements MigrationInterface {
    readonly name = 'IdentifyPayments1764000000600';

    async up(runner: QueryRunner): Promise<void> {
      for (const statement of [...attempts(schema), ...refunds(schema), ...unmatched(schema)]) {
        await runner.query(statement);
      }
    }

    async down(runner: QueryRunner): Promise<void> {
      for (const statement of undo(schema)) await runner.query(statement);
    }
  };
}

function attempts(schema: string): string[] {
  const table = `${schema}.payment_attempt`;
  return [
    `ALTER TABLE ${schema}.refund DROP CONSTRAINT refund_provider_reference_fkey`,
    `UPDATE ${table} SET merchant_account = '' WHERE merchant_account IS NULL`,
    // Empty if the provider has no merchants, because a key has no NULLs.
    `ALTER TABLE ${table}
       ALTER COLUMN merchant_account SET DEFAULT '', ALTER COLUMN merchant_account SET NOT NULL,
       ADD COLUMN registered boolean NOT NULL DEFAULT true,
       ADD COLUMN paid_source text CHECK (paid_source IN ('report', 'provider')),
       DROP CONSTRAINT payment_attempt_pkey, ADD PRIMARY KEY (provider, reference, merchant_account)`,
    // By the provider's own number, because one payment may arrive under two names.
    `CREATE INDEX payment_attempt_transaction ON ${table} (transaction_id, provider) WHERE transaction_id IS NOT NULL`,
    ...check(table, 'status', `${STATUSES}, 'DUPLICATE'`),
  ];
}

function refunds(schema: string): string[] {
  const table = `${schema}.refund`;
  return [
    `ALTER TABLE ${table} ADD COLUMN merchant_account text NOT NULL DEFAULT '', ADD COLUMN requested_by text`,
    `UPDATE ${table} r SET merchant_account = a.merchant_account FROM ${schema}.payment_attempt a
      WHERE a.provider = r.provider AND a.reference = r.reference AND a.merchant_account <> ''`,
    `ALTER TABLE ${table} DROP CONSTRAINT refund_provider_reference_key,
       ADD CONSTRAINT refund_attempt_key UNIQUE (provider, reference, merchant_account),
       ADD CONSTRAINT refund_attempt_fkey FOREIGN KEY (provider, reference, merchant_account)
         REFERENCES ${schema}.payment_attempt (provider, reference, merchant_account)`,
    ...check(table, 'reason', `${REASONS}, 'operator'`),
  ];
}

function unmatched(schema: string): string[] {
  const table = `${schema}.orphan_payment`;
  return [
    `ALTER TABLE ${table}
       ADD COLUMN merchant_account text NOT NULL DEFAULT '',
       ADD COLUMN source text NOT NULL DEFAULT 'report' CHECK (source IN ('report', 'provider')),
       ADD COLUMN resolved_at timestamptz(3), ADD COLUMN resolved_by text, ADD COLUMN resolution text`,
    `UPDATE ${table} SET merchant_account = evidence->>'merchantAccount'
      WHERE evidence->>'merchantAccount' IS NOT NULL`,
    `ALTER TABLE ${table} DROP CONSTRAINT orphan_payment_provider_reference_reason_key,
       ADD CONSTRAINT orphan_payment_key UNIQUE (provider, reference, merchant_account, reason)`,
    // Only a small part of all unmatched payments waits for a person.
    `CREATE INDEX orphan_payment_open ON ${table} (id) WHERE handling IN ('kept', 'waiting')`,
    ...check(table, 'handling', `${HANDLINGS}, 'completed', 'settled'`),
  ];
}

function undo(schema: string): string[] {
  const [attempt, refund, payment] = ['payment_attempt', 'refund', 'orphan_payment'].map((name) => `${schema}.${name}`);
  return [
    `UPDATE ${payment} SET handling = 'adopted' WHERE handling IN ('completed', 'settled')`,
    ...check(`${payment}`, 'handling', HANDLINGS),
    `DROP INDEX ${schema}.orphan_payment_open`,
    `ALTER TABLE ${payment} DROP CONSTRAINT orphan_payment_key,
       ADD UNIQUE (provider, reference, reason), DROP COLUMN merchant_account, DROP COLUMN source,
       DROP COLUMN resolved_at, DROP COLUMN resolved_by, DROP COLUMN resolution`,
    `UPDATE ${refund} SET reason = 'late' WHERE reason = 'operator'`,
    ...check(`${refund}`, 'reason', REASONS),
    `ALTER TABLE ${refund} DROP CONSTRAINT refund_attempt_fkey, DROP CONSTRAINT refund_attempt_key,
       DROP COLUMN merchant_account, DROP COLUMN requested_by`,
    `UPDATE ${attempt} SET status = 'CLOSED' WHERE status = 'DUPLICATE'`,
    ...check(`${attempt}`, 'status', STATUSES),
    `DROP INDEX ${schema}.payment_attempt_transaction`,
    `ALTER TABLE ${attempt} DROP CONSTRAINT payment_attempt_pkey, ADD PRIMARY KEY (provider, reference),
       DROP COLUMN registered, DROP COLUMN paid_source,
       ALTER COLUMN merchant_account DROP NOT NULL, ALTER COLUMN merchant_account DROP DEFAULT`,
    `ALTER TABLE ${refund} ADD UNIQUE (provider, reference),
       ADD FOREIGN KEY (provider, reference) REFERENCES ${attempt}`,
  ];
}

/** Replaces the list of words that a column may contain. */
function check(table: string, column: string, words: string): string[] {
  const name = `${table.split('.')[1]}_${column}_check`;
  return [`ALTER TABLE ${table} DROP CONSTRAINT ${name}, ADD CONSTRAINT ${name} CHECK (${column} IN (${words}))`];
}
