import { present, validInstant } from '../../errors';
import { UnsupportedIsolationLevelError } from '../../database';
import { type EntityManager } from 'typeorm';
import { type LockedOrder } from '../order';
import { type PaidSource, type PaymentAttempt, type PaymentNames } from '../payment-attempt';
import { earlyMoney } from './wanted-attempt';
import {
  type AttemptRow,
  ATTEMPT_COLUMNS,
  attemptsByOrder,
  ORDER_COLUMNS,
  type OrderRow,
  toAttempt,
  toOrder,
} from './order-row';

/** A batch of orders as read under its locks. */
export interface LockedBatch {
  /** The database's time, read after the locks were taken. */
  readonly now: Date;
  readonly orders: ReadonlyMap<string, LockedOrder>;
  /** Payments of these orders that were reported before the orders were placed or their attempts registered. */
  readonly adoptable: readonly AdoptablePayment[];
  /** Orders that another transaction has locked. Only with `skip-locked`. */
  readonly busy: ReadonlySet<string>;
}

/** Money that no order has. `id` is its row in unmatched_payment. */
export interface UnownedMoney extends PaymentNames {
  readonly id: string;
  readonly amount: bigint;
  readonly currency: string;
  readonly source: PaidSource;
  readonly evidence: Readonly<Record<string, unknown>>;
  /** When it was told of first. */
  readonly createdAt: Date;
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
  readonly attempts: AttemptRow[] | null;
  readonly adoptable: AdoptableRow[] | null;
}

/** A row of unowned money as JSON. */
export interface UnownedRow {
  readonly id: string;
  readonly provider: string;
  readonly reference: string;
  readonly amount: string;
  readonly currency: string;
  readonly merchant_account: string;
  readonly source: PaidSource;
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly created_at: string;
}

interface AdoptableRow extends UnownedRow {
  readonly order_id: string;
  /** The reference of the attempt that it is for. Null: it names the order. */
  readonly attempt: string | null;
}

/** SQL: the columns of unowned money, from unmatched_payment with the alias `p`. */
export const UNOWNED_COLUMNS =
  'p.id, p.provider, p.reference, p.merchant_account, p.amount::text AS amount, p.currency, p.source, p.evidence, p.created_at';

/** An attempt with the alias `a`. */
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
 */
export class LockOrders {
  private readonly wait: string;
  private readonly skipLocked: string;
  private readonly underLock: string;
  private readonly existing: string;

  constructor(schema: string) {
    // ORDER BY: callers that lock several orders use one global order.
    const lock = `SELECT ${ORDER_COLUMNS} FROM ${schema}.orders o WHERE o.id = ANY($1::text[]) ORDER BY o.id FOR NO KEY UPDATE`;
    this.wait = lock;
    this.skipLocked = `${lock} SKIP LOCKED`;
    const isAdoptable = `p.reason = 'unknown-order' AND p.handling = 'kept'`;
    // clock_timestamp(): the transaction may have begun long before it got the lock.
    this.underLock = `
      SELECT clock_timestamp() AS now, current_setting('transaction_isolation') AS isolation, (
        SELECT json_agg(found) FROM (
          SELECT ${ATTEMPT_COLUMNS} FROM ${schema}.payment_attempt a WHERE a.order_id = ANY($1::text[])
           ORDER BY a.created_at, a.provider, a.reference) found) AS attempts, (
        SELECT json_agg(found) FROM (
          SELECT p.order_id, NULL AS attempt, ${UNOWNED_COLUMNS} FROM ${schema}.unmatched_payment p
           WHERE p.order_id = ANY($1::text[]) AND ${isAdoptable}
          UNION ALL
          SELECT a.order_id, a.reference AS attempt, ${UNOWNED_COLUMNS} FROM ${schema}.payment_attempt a, LATERAL ${earlyMoney(schema, ATTEMPT)} p
           WHERE a.order_id = ANY($1::text[]) AND p.source = 'provider'
                 AND (p.reference = a.reference OR a.registered)
                 AND NOT EXISTS (SELECT 1 FROM ${schema}.orders x WHERE x.id = p.order_id)
           ORDER BY created_at, id) found) AS adoptable`;
    this.existing = `SELECT id FROM ${schema}.orders WHERE id = ANY($1::text[])`;
  }

  async execute(tx: EntityManager, ids: readonly string[], mode: 'wait' | 'skip-locked'): Promise<LockedBatch> {
    const rows = await tx.query<OrderRow[]>(mode === 'wait' ? this.wait : this.skipLocked, [ids]);
    const [found] = await tx.query<UnderLock[]>(this.underLock, [rows.map((row) => row.id)]);
    const read = present(found, 'the row of the statement that reads locked orders');
    if (!SEES_COMMITTED.has(read.isolation)) throw new UnsupportedIsolationLevelError(read.isolation.toUpperCase());
    const orders = join(rows, (read.attempts ?? []).map(toAttempt));
    const missing = mode === 'skip-locked' ? ids.filter((id) => !orders.has(id)) : [];
    const adoptable = (read.adoptable ?? []).map(toAdoptable);
    return { now: validInstant(read.now), orders, adoptable, busy: await this.existingOf(tx, missing) };
  }

  private async existingOf(tx: EntityManager, ids: readonly string[]): Promise<ReadonlySet<string>> {
    if (ids.length === 0) return new Set();
    const rows = await tx.query<{ id: string }[]>(this.existing, [ids]);
    return new Set(rows.map((row) => row.id));
  }
}

/** Under the reference that the provider has stated, as if it were told of again. */
function toAdoptable({ order_id: orderId, attempt, ...row }: AdoptableRow): AdoptablePayment {
  return { ...toUnowned(row), reference: attempt ?? row.reference, orderId, namesOrder: attempt === null };
}

export function toUnowned({ merchant_account: account, created_at: at, amount, ...row }: UnownedRow): UnownedMoney {
  const { transactionId } = row.evidence;
  return {
    ...row,
    merchantAccount: account === '' ? null : account,
    transactionId: typeof transactionId === 'string' ? transactionId : null,
    amount: BigInt(amount),
    createdAt: validInstant(new Date(at)),
  };
}

function join(rows: readonly OrderRow[], attempts: readonly PaymentAttempt[]): Map<string, LockedOrder> {
  const ofOrder = attemptsByOrder(
    rows.map((row) => row.id),
    attempts,
  );
  return new Map(rows.map((row) => [row.id, { ...toOrder(row), attempts: ofOrder.get(row.id) ?? [] }]));
}
