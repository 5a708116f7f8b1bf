import { indexMigrationOf, type Migration, migrationOf } from '../../database';
import { rememberSettledSql } from '../sql/handled-payments';
import { ATTEMPT_STATUSES } from '../model/order';

const STATUSES = `'CREATED', 'OPEN', 'PAID', 'CLOSED', 'UNKNOWN', 'REFUNDING', 'REFUNDED'`;
const REASONS = `'late', 'surplus', 'partial'`;
const HANDLINGS = `'kept', 'waiting', 'revived', 'refunding', 'adopted'`;

/**
 * Makes the merchant account part of a payment's identity, and stores who vouches for a payment and who settled an
 * unmatched payment. Not compatible with a running instance of the previous release, which inserts by the old key.
 */
export function identifyPayments(schema: string): Migration {
  return migrationOf(
    'IdentifyPayments1764000000600',
    [...attempts(schema), ...refunds(schema), ...unmatched(schema)],
    [...undo(schema)],
  );
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

/** Finds money that no order has by its other names: the reference of the first payment, and the provider's own id. */
export function indexEarlyMoney(schema: string): Migration {
  // Hash: a provider may have put a text of any length there.
  const on = (key: string): string =>
    `USING hash ((evidence->>'${key}')) WHERE reason = 'unknown-order' AND handling = 'kept'`;
  return indexMigrationOf('IndexEarlyMoney1766000002100', schema, 'unmatched_payment', {
    unmatched_payment_early: on('reference'),
    unmatched_payment_named: on('transactionId'),
  });
}

const REFUND_REASONS = `'late', 'surplus', 'partial', 'operator'`;

/** Refunds of the excess of an overpaid order. The payment stays, so it may have a second refund, of the rest. */
export function refundExcess(schema: string): Migration {
  const [attempt, refund] = [`${schema}.payment_attempt`, `${schema}.refund`];
  return migrationOf(
    'RefundExcess1766000002500',
    [
      `ALTER TABLE ${attempt} ADD COLUMN refunded_amount bigint NOT NULL DEFAULT 0`,
      reasonSql(refund, `${REFUND_REASONS}, 'overpaid'`),
      // One refund of the excess and one of the rest. The key is the last defense against refunding twice.
      `ALTER TABLE ${refund} DROP CONSTRAINT refund_attempt_key`,
      `
        CREATE UNIQUE INDEX refund_attempt_part ON ${refund} (provider, reference, merchant_account, (reason = 'overpaid'))`,
    ],
    [
      `DELETE FROM ${refund} WHERE reason = 'overpaid'`,
      `DROP INDEX ${schema}.refund_attempt_part`,
      `ALTER TABLE ${refund} ADD CONSTRAINT refund_attempt_key UNIQUE (provider, reference, merchant_account)`,
      reasonSql(refund, REFUND_REASONS),
      `ALTER TABLE ${attempt} DROP COLUMN refunded_amount`,
    ],
  );
}

/** NOT VALID: all rows fit, because the check only allows more, and reading a large table would hold its lock. */
function reasonSql(refund: string, reasons: string): string {
  return `
    ALTER TABLE ${refund} DROP CONSTRAINT refund_reason_check,
      ADD CONSTRAINT refund_reason_check CHECK (reason IN (${reasons})) NOT VALID`;
}

/**
 * Creates what is left of payments whose orders were erased or purged, or that a person has settled: a keyed hash of each
 * of their names. The key is random, and never leaves the schema.
 */
export function rememberPayments(schema: string): Migration {
  return migrationOf(
    'RememberPayments1766000001900',
    [
      ...tables(schema),
      functionSql(schema),
      // What was settled before, and belongs to no attempt.
      rememberSettledSql(schema, `p.handling = 'settled' AND p.reason = 'unknown-order'`),
    ],
    [
      `DROP FUNCTION ${schema}.payment_name(text, text)`,
      `DROP TABLE ${schema}.handled_payment`,
      `DROP TABLE ${schema}.payment_name_key`,
    ],
  );
}

function tables(schema: string): string[] {
  return [
    `CREATE TABLE ${schema}.payment_name_key (
       id  int   PRIMARY KEY DEFAULT 1 CHECK (id = 1),
       key bytea NOT NULL
     )`,
    // 244 random bits, because a UUID has 6 that are fixed.
    `INSERT INTO ${schema}.payment_name_key (key)
     SELECT decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')`,
    `CREATE TABLE ${schema}.handled_payment (
       reference        bytea          NOT NULL,
       transaction      bytea,
       merchant_account text           NOT NULL,
       amount           bigint,
       currency         text,
       source           text           NOT NULL CHECK (source IN ('report', 'provider')),
       fate             text           NOT NULL CHECK (fate IN ('settled', 'booked')),
       order_id         text,
       created_at       timestamptz(3) NOT NULL DEFAULT now()
     )`,
    `CREATE INDEX handled_payment_reference ON ${schema}.handled_payment (reference)`,
    `CREATE INDEX handled_payment_transaction ON ${schema}.handled_payment (transaction) WHERE transaction IS NOT NULL`,
  ];
}

/** Without the key, nothing is hashed: inserting fails, because a name is missing. Hashed twice, as HMAC does. */
function functionSql(schema: string): string {
  return `
    CREATE FUNCTION ${schema}.payment_name(provider text, name text) RETURNS bytea LANGUAGE sql STABLE AS $$
      SELECT sha256(k.key || sha256(k.key || convert_to($1 || E'\\n' || $2, 'UTF8'))) FROM ${schema}.payment_name_key k
    $$`;
}

/** Lets what is left of the payments of an erased or purged order say that one was refunded, which may fail later. */
export function rememberRefunds(schema: string): Migration {
  return migrationOf(
    'RememberRefunds1766000002600',
    [fateSql(schema, ['settled', 'booked', 'refunded'])],
    [
      `UPDATE ${schema}.handled_payment SET fate = 'booked' WHERE fate = 'refunded'`,
      fateSql(schema, ['settled', 'booked']),
    ],
  );
}

/** NOT VALID: all rows fit, and reading a large table would hold its lock. */
function fateSql(schema: string, fates: readonly string[]): string {
  const list = fates.map((fate) => `'${fate}'`).join(', ');
  return `
    ALTER TABLE ${schema}.handled_payment DROP CONSTRAINT handled_payment_fate_check,
      ADD CONSTRAINT handled_payment_fate_check CHECK (fate IN (${list})) NOT VALID`;
}

const FORMER = 'orphan_payment';
const NAME = 'unmatched_payment';

/**
 * Renames `orphan_payment`. A view of the old name stays for one release, so that instances of the release before can
 * read and write. The view has `ctid` too, because their purge finds rows by it.
 *
 * What it reads of the catalog is read by PostgreSQL itself, so that the migration can be printed as SQL.
 */
export function renameUnmatchedPayment(schema: string): Migration {
  return migrationOf(
    'RenameUnmatchedPayment1765400001200',
    [
      `ALTER TABLE ${schema}.orphan_payment RENAME TO unmatched_payment`,
      renamePartsSql(schema, FORMER, NAME),
      `CREATE VIEW ${schema}.orphan_payment AS SELECT *, ctid FROM ${schema}.unmatched_payment`,
      copyRightsSql(schema),
    ],
    [
      `DROP VIEW ${schema}.orphan_payment`,
      renamePartsSql(schema, NAME, FORMER),
      `ALTER TABLE ${schema}.unmatched_payment RENAME TO orphan_payment`,
    ],
  );
}

/**
 * Renames the constraints and indexes of the table that begin with `from`. The index of a constraint goes with it. A
 * host may have added some, with names that need quotes.
 */
function renamePartsSql(schema: string, from: string, to: string): string {
  const renamed = (name: string): string => `'${to}' || substr(${name}, length('${from}') + 1)`;
  return `
    DO $$
    DECLARE part record;
    BEGIN
      FOR part IN SELECT conname AS name, ${renamed('conname')} AS renamed FROM pg_constraint
                   WHERE conrelid = '${schema}.unmatched_payment'::regclass AND starts_with(conname::text, '${from}') LOOP
        EXECUTE format('ALTER TABLE ${schema}.unmatched_payment RENAME CONSTRAINT %I TO %I', part.name, part.renamed);
      END LOOP;
      FOR part IN SELECT c.relname AS name, ${renamed('c.relname')} AS renamed
                    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                   WHERE i.indrelid = '${schema}.unmatched_payment'::regclass
                     AND starts_with(c.relname::text, '${from}') LOOP
        EXECUTE format('ALTER INDEX ${schema}.%I RENAME TO %I', part.name, part.renamed);
      END LOOP;
    END $$`;
}

/**
 * Gives the view to the owner of the table, and grants on it what others may do with the table. The role that migrates
 * may be neither of the roles that use the view.
 */
function copyRightsSql(schema: string): string {
  return `
    DO $$
    DECLARE owner text; right_of record;
    BEGIN
      SELECT pg_get_userbyid(relowner) INTO STRICT owner FROM pg_class
       WHERE oid = '${schema}.unmatched_payment'::regclass;
      EXECUTE format('ALTER VIEW ${schema}.orphan_payment OWNER TO %I', owner);
      FOR right_of IN
          SELECT g.privilege_type AS privilege,
                 CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END AS grantee
            FROM pg_class t, aclexplode(t.relacl) g
           WHERE t.oid = '${schema}.unmatched_payment'::regclass AND g.grantee <> t.relowner
             AND g.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE') LOOP
        EXECUTE format('GRANT %s ON ${schema}.orphan_payment TO %s', right_of.privilege, right_of.grantee);
      END LOOP;
    END $$`;
}

/** The account of attempts that were registered without one. Their rows keep their key, on which refunds depend. */
export function resolveAccounts(schema: string): Migration {
  return migrationOf(
    'ResolveAccounts1766000002200',
    [`ALTER TABLE ${schema}.payment_attempt ADD COLUMN resolved_account text`],
    [`ALTER TABLE ${schema}.payment_attempt DROP COLUMN resolved_account`],
  );
}

/** Tells what a person has assigned from what its order has registered. What was assigned before counts as registered. */
export function noteAssignment(schema: string): Migration {
  return migrationOf(
    'NoteAssignment1766000002700',
    [`ALTER TABLE ${schema}.payment_attempt ADD COLUMN assigned boolean NOT NULL DEFAULT false`],
    [`ALTER TABLE ${schema}.payment_attempt DROP COLUMN assigned`],
  );
}

/** A second payment under a reference is booked under its transaction id, which may have 255 characters. */
export function widenReferences(schema: string): Migration {
  return migrationOf('WidenReferences1766000002800', [lengthSql(schema, 255)], [lengthSql(schema, 128)]);
}

/** NOT VALID: reading a large table would hold its lock. */
function lengthSql(schema: string, longest: number): string {
  return `
    ALTER TABLE ${schema}.payment_attempt DROP CONSTRAINT payment_attempt_reference_check,
      ADD CONSTRAINT payment_attempt_reference_check CHECK (length(reference) BETWEEN 1 AND ${longest}) NOT VALID`;
}

/** Without it, PostgreSQL refuses to change rows of a table without a primary key that a publication includes. */
export function identifyHandledPayments(schema: string): Migration {
  const table = `${schema}.handled_payment`;
  return migrationOf(
    'IdentifyHandledPayments1766000002900',
    [`ALTER TABLE ${table} REPLICA IDENTITY FULL`],
    [`ALTER TABLE ${table} REPLICA IDENTITY DEFAULT`],
  );
}

const BEFORE = ATTEMPT_STATUSES.filter((status) => status !== 'SETTLED');

/** Records on attempts that a person has settled their payments, so that it outlives the rows of unmatched money. */
export function settleAttempts(schema: string): Migration {
  return migrationOf(
    'SettleAttempts1766000001800',
    [
      statusSql(schema, ATTEMPT_STATUSES),
      // What was decided before. A mismatch is about a claim, and its order may need the money.
      `
        UPDATE ${schema}.payment_attempt a SET status = 'SETTLED', updated_at = now()
          FROM ${schema}.unmatched_payment p
         WHERE p.handling = 'settled' AND p.reason IN ('late', 'surplus', 'amount-mismatch', 'currency-mismatch')
               AND a.provider = p.provider AND a.reference = p.reference AND a.merchant_account = p.merchant_account
               AND a.order_id = p.order_id AND a.status = 'PAID'`,
    ],
    [`UPDATE ${schema}.payment_attempt SET status = 'PAID' WHERE status = 'SETTLED'`, statusSql(schema, BEFORE)],
  );
}

/** NOT VALID: all rows fit, because the check only allows more, and reading a large table would hold its lock. */
function statusSql(schema: string, statuses: readonly string[]): string {
  const list = statuses.map((status) => `'${status}'`).join(', ');
  return `
    ALTER TABLE ${schema}.payment_attempt DROP CONSTRAINT payment_attempt_status_check,
      ADD CONSTRAINT payment_attempt_status_check CHECK (status IN (${list})) NOT VALID`;
}
