import { type EntityManager } from 'typeorm';
import { present, validInstant } from '../../errors';
import { type Database, statements, UnsupportedIsolationLevelError } from '../../database';
import { entityTables } from '../entities';
import { type PaymentProviders } from '../../payments';
import { type SamePayments, type UnownedMoney } from '../model/decide-claim';
import { type LockedOrder, type PaymentNames, BOOKED_SQL } from '../model/order';
import {
  type AttemptRow,
  ATTEMPT_COLUMNS,
  attemptsByOrder,
  ORDER_COLUMNS,
  type OrderRow,
  toAttempt,
  toOrder,
} from './order-rows';
import { type HandledRow, handledSql, NAMED, namesParameters, handledOf } from './handled-payments';

export interface LockedBatch {
  readonly now: Date;
  readonly orders: ReadonlyMap<string, LockedOrder>;
  /** Payments that were told before these orders were placed or their attempts registered, those of providers first. */
  readonly adoptable: readonly AdoptablePayment[];
  readonly busy: ReadonlySet<string>;
}

/** A payment that was reported before its order or attempt existed. */
export interface AdoptablePayment extends UnownedMoney {
  readonly orderId: string;
  /** Its report named the order. Otherwise it is for an attempt of the order. */
  readonly namesOrder: boolean;
}

interface UnderLock {
  readonly now: Date;
  readonly isolation: string;
  /** A table of which row-level security hides rows. A host's transaction may have a role of its own. */
  readonly hidden: string | null;
  readonly attempts: AttemptRow[] | null;
  readonly adoptable: AdoptableRow[] | null;
}

interface UnownedRow extends Pick<UnownedMoney, 'id' | 'provider' | 'reference' | 'currency' | 'source' | 'evidence'> {
  readonly amount: string;
  readonly merchant_account: string;
  readonly created_at: string;
}

interface AdoptableRow extends UnownedRow {
  readonly order_id: string;
  /** The reference of the attempt that it is for. Null: it names the order. */
  readonly attempt: string | null;
}

/** SQL: the columns of unowned money, from unmatched_payment with the alias `p`. */
const UNOWNED_COLUMNS =
  'p.id, p.provider, p.reference, p.merchant_account, p.amount::text AS amount, p.currency, p.source, p.evidence, p.created_at';

const ATTEMPT = {
  provider: 'a.provider',
  reference: 'a.reference',
  account: 'COALESCE(a.resolved_account, a.merchant_account)',
};

/** READ UNCOMMITTED is the same as READ COMMITTED in PostgreSQL. */
const SEES_COMMITTED = new Set(['read committed', 'read uncommitted']);

/**
 * Locks orders, then reads their attempts in a separate statement. A single joined statement would read the attempts
 * from a snapshot older than the lock. It would miss an attempt that was registered in between, and the order would be
 * closed although it can be paid.
 *
 * @throws what PostgreSQL says if row-level security hides rows: money that is not seen would be no money. The work then
 * waits as for a right that is missing.
 */
export async function lockOrders(
  tx: EntityManager,
  database: Database,
  ids: readonly string[],
  mode: 'wait' | 'skip-locked',
): Promise<LockedBatch> {
  const sql = locksSql(database);
  const rows = await tx.query<OrderRow[]>(sql[mode], [ids]);
  const [found] = await tx.query<UnderLock[]>(sql.underLock, [rows.map((row) => row.id)]);
  const read = present(found, 'the row of the statement that reads locked orders');
  if (!SEES_COMMITTED.has(read.isolation)) throw new UnsupportedIsolationLevelError(read.isolation.toUpperCase());
  if (read.hidden !== null) {
    await tx.query('SET LOCAL row_security = off');
    await tx.query(`SELECT FROM ${read.hidden} LIMIT 0`);
  }
  const attempts = attemptsByOrder((read.attempts ?? []).map(toAttempt));
  const orders = new Map(rows.map((row) => [row.id, { ...toOrder(row), attempts: attempts.get(row.id) ?? [] }]));
  const missing = mode === 'skip-locked' ? ids.filter((id) => !orders.has(id)) : [];
  const existing = missing.length > 0 ? await tx.query<{ id: string }[]>(sql.existing, [missing]) : [];
  const adoptable = (read.adoptable ?? []).map(toAdoptable);
  return { now: validInstant(read.now), orders, adoptable, busy: new Set(existing.map(({ id }) => id)) };
}

const locksSql = statements((schema) => {
  // ORDER BY: callers that lock several orders use one global order.
  const lock = `SELECT ${ORDER_COLUMNS} FROM ${schema}.orders o WHERE o.id = ANY($1::text[]) ORDER BY o.id FOR NO KEY UPDATE`;
  const names = entityTables().map(({ tableName }) => tableName);
  const isAdoptable = `p.reason = 'unknown-order' AND p.handling = 'kept'`;
  return {
    wait: lock,
    'skip-locked': `${lock} SKIP LOCKED`,
    // clock_timestamp(): the transaction may have begun long before it got the lock.
    underLock: `
      SELECT clock_timestamp() AS now, current_setting('transaction_isolation') AS isolation, (
        SELECT '${schema}.' || name FROM unnest('{${names.join(',')}}'::text[]) AS name
         WHERE row_security_active(to_regclass('${schema}.' || name)) LIMIT 1) AS hidden, (
        SELECT json_agg(found) FROM (
          SELECT ${ATTEMPT_COLUMNS} FROM ${schema}.payment_attempt a WHERE a.order_id = ANY($1::text[])
           ORDER BY a.created_at, a.provider, a.reference) found) AS attempts, (
        SELECT json_agg(found) FROM (
          SELECT p.order_id, NULL AS attempt, ${UNOWNED_COLUMNS} FROM ${schema}.unmatched_payment p
           WHERE p.order_id = ANY($1::text[]) AND ${isAdoptable}
          UNION ALL
          SELECT a.order_id, a.reference AS attempt, ${UNOWNED_COLUMNS} FROM ${schema}.payment_attempt a, LATERAL ${earlyMoney(schema, ATTEMPT)} p
           WHERE a.order_id = ANY($1::text[]) AND p.source = 'provider'
                 AND (p.reference = a.reference OR a.registered AND NOT a.assigned)
                 AND NOT EXISTS (SELECT 1 FROM ${schema}.orders x WHERE x.id = p.order_id)
           ORDER BY source, created_at, id) found) AS adoptable`,
    existing: `SELECT id FROM ${schema}.orders WHERE id = ANY($1::text[])`,
  };
});

/** Under the reference that the provider has stated, as if it were told of again. */
function toAdoptable({ order_id: orderId, attempt, ...row }: AdoptableRow): AdoptablePayment {
  return { ...toUnowned(row), reference: attempt ?? row.reference, orderId, namesOrder: attempt === null };
}

function toUnowned({ merchant_account: account, created_at: at, amount, ...row }: UnownedRow): UnownedMoney {
  const { transactionId } = row.evidence;
  return {
    ...row,
    merchantAccount: account === '' ? null : account,
    transactionId: typeof transactionId === 'string' ? transactionId : null,
    amount: BigInt(amount),
    createdAt: validInstant(new Date(at)),
  };
}

interface SameRow {
  readonly attempts: AttemptRow[] | null;
  readonly unowned: UnownedRow[] | null;
  readonly handled: HandledRow[] | null;
}

/**
 * Until the end of this transaction, no other one books a payment that has one of these names: two that book it for
 * different orders do not see each other. In a statement of its own, so that the next one sees what was committed.
 */
export async function lockPayments(
  tx: EntityManager,
  database: Database,
  names: readonly PaymentNames[],
): Promise<void> {
  await tx.query(sameSql(database).lock, namesParameters(names));
}

/**
 * Finds the same payments under any name: attempts that have these keys, hold the money under its other name, or are
 * registered under it, and money that no order has.
 */
export async function findSamePayments(
  tx: Pick<EntityManager, 'query'>,
  database: Database,
  names: readonly PaymentNames[],
  orderId?: string,
): Promise<SamePayments> {
  const [row] = await tx.query<SameRow[]>(sameSql(database).find, namesParameters(names));
  return {
    attempts: (row?.attempts ?? []).map(toAttempt),
    unowned: (row?.unowned ?? []).map(toUnowned),
    handled: handledOf(row?.handled, orderId),
  };
}

const sameSql = statements((schema) => {
  // An account that is not known may be any. The caller compares further, because it knows the defaults.
  const account = `COALESCE(a.resolved_account, a.merchant_account)`;
  const columns = `a.provider = n.provider AND (n.account = '' OR ${account} IN ('', n.account))`;
  const isBooked = `a.status IN (${BOOKED_SQL})`;
  const hasItsId = `a.status IN (${BOOKED_SQL}, 'DUPLICATE')`;
  const attempts = `${schema}.payment_attempt a WHERE ${columns}`;
  const unowned = `${schema}.unmatched_payment p
           WHERE p.provider = n.provider AND (n.account = '' OR p.merchant_account IN ('', n.account))
                 AND p.source = 'provider' AND p.reason = 'unknown-order' AND p.handling = 'kept'`;
  return {
    // All in one order, and counted, because some libraries cannot read the type void.
    lock: `
      SELECT count(pg_advisory_xact_lock(key))::int AS count FROM (
        SELECT DISTINCT hashtextextended(concat_ws(chr(10), '${schema}', n.provider, name), 0) AS key
          FROM ${NAMED}, unnest(ARRAY[n.reference, n.transaction]) name WHERE name IS NOT NULL ORDER BY 1 OFFSET 0) k`,
    // One index look-up for each way in which two names can match. OFFSET 0 keeps the planner from joining tables.
    find: `
      SELECT (SELECT json_agg(DISTINCT to_jsonb(found)) FROM (
        SELECT x.* FROM ${NAMED}, LATERAL (
          SELECT ${ATTEMPT_COLUMNS} FROM ${attempts} AND a.reference = n.reference
          UNION ALL
          SELECT ${ATTEMPT_COLUMNS} FROM ${attempts} AND a.reference = n.transaction AND (${isBooked} OR a.registered)
          UNION ALL
          SELECT ${ATTEMPT_COLUMNS} FROM ${attempts} AND a.transaction_id = n.reference AND ${hasItsId}
          UNION ALL
          SELECT ${ATTEMPT_COLUMNS} FROM ${attempts} AND a.transaction_id = n.transaction AND ${hasItsId}
          OFFSET 0) x) found) AS attempts, (
        SELECT json_agg(DISTINCT to_jsonb(p)) FROM ${NAMED}, LATERAL (
          SELECT ${UNOWNED_COLUMNS} FROM ${unowned} AND p.reference IN (n.reference, n.transaction)
          UNION ALL
          SELECT ${UNOWNED_COLUMNS} FROM ${unowned} AND p.evidence->>'transactionId' = n.reference
          UNION ALL
          SELECT ${UNOWNED_COLUMNS} FROM ${unowned} AND p.evidence->>'transactionId' = n.transaction OFFSET 0) p) AS unowned,
        (${handledSql(schema)}) AS handled`,
  };
});

/** Knows the merchant account of attempts that name none, by provider. */
export type DefaultAccounts = Pick<PaymentProviders, 'get'>;

interface AttemptColumns {
  readonly provider: string;
  readonly reference: string;
  /** Empty: not known. */
  readonly account: string;
}

interface Wanted extends AttemptColumns {
  readonly orderId: string;
  readonly mayBeUnknown: string;
}

/**
 * SQL: true if another order has this attempt, perhaps without its account or under one that is not known here; otherwise
 * NULL. The primary key finds only equal accounts. LIMIT: a subquery by the key, whatever the planner estimates.
 */
export function takenByOther(schema: string, { provider, reference, orderId, account, mayBeUnknown }: Wanted): string {
  return `(
      SELECT true FROM ${schema}.payment_attempt x
       WHERE x.provider = ${provider} AND x.reference = ${reference} AND x.order_id <> ${orderId}
         AND (${account} = '' OR COALESCE(x.resolved_account, x.merchant_account) = ${account}
              OR ${mayBeUnknown} AND x.merchant_account = '' AND x.resolved_account IS NULL) LIMIT 1)`;
}

/** Whether an attempt without an account may be one with this account: if that is the default, or none is known. */
export function mayBeUnknown(
  { provider, merchantAccount }: { readonly provider: string; readonly merchantAccount: string | null },
  providers: DefaultAccounts,
): boolean {
  const byDefault = providers.get(provider)?.defaultAccount ?? null;
  return byDefault === null || byDefault === merchantAccount;
}

/**
 * SQL: the rows of unmatched money that may be for this attempt, because they came before it: the first payment under its
 * reference, and the others, whose rows have it in their evidence. The account of either may not be known yet. OFFSET 0:
 * without statistics, the planner starts from all unmatched money.
 */
export function earlyMoney(schema: string, { provider, reference, account }: AttemptColumns): string {
  const early = `
    SELECT * FROM ${schema}.unmatched_payment early
     WHERE early.provider = ${provider} AND (${account} = '' OR early.merchant_account IN ('', ${account}))
       AND early.reason = 'unknown-order' AND early.handling = 'kept'`;
  return `(${early} AND early.reference = ${reference}
    UNION ALL ${early} AND early.evidence->>'reference' = ${reference} AND early.reference <> ${reference}
       AND early.evidence->>'transactionId' = early.reference OFFSET 0)`;
}
