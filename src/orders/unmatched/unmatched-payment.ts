import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { type JsonObject } from '../../outbox';
import { Database, statements, storableText } from '../../database';
import { TimeoutScheduler } from '../../timeouts';
import { closingsNow } from '../model/order-timeouts';
import { BOOKED_SQL, isSameRow, type PaidSource, type PaymentAttempt, type PaymentNames } from '../model/order';
import { type ReportedPayment } from '../model/reported-payment';
import { type UnmatchedHandling, type UnmatchedReason, WHOLE_PAYMENT_REASONS } from '../model/unmatched-money';
import { keptFromEnding } from '../sql/attempts';
import { OTHER_ORDERS } from '../sql/keep-unmatched-money';
import { type Why } from '../sql/order-transaction';

/** Money that no order takes: a row of unmatched_payment. Amounts are in minor units. */
export interface UnmatchedPayment {
  readonly id: string;
  readonly reason: UnmatchedReason;
  readonly handling: UnmatchedHandling;
  /**
   * The order that the payment names or belongs to. In a list, the order that has, claims, or has registered an
   * `unknown-order`. Null: it is unknown.
   */
  readonly orderId: string | null;
  readonly provider: string;
  readonly reference: string;
  /** Null: the provider has no merchants. */
  readonly merchantAccount: string | null;
  readonly amount: number;
  readonly currency: string;
  /** Who says that it was paid. */
  readonly source: PaidSource;
  readonly evidence: Readonly<Record<string, unknown>>;
  /** When it was told first; of a chargeback, when the bank was last heard of. */
  readonly createdAt: Date;
  /** When, by whom, and why it was settled or assigned. Null: an operator has not handled it. */
  readonly resolvedAt: Date | null;
  readonly resolvedBy: string | null;
  readonly resolution: string | null;
}

/** Whether it waits for a person, or for the deadline of its order. */
export function isOpen({ handling }: Pick<UnmatchedPayment, 'handling'>): boolean {
  return handling === 'kept' || handling === 'waiting';
}

/** Whether it is about what this attempt holds. If another payment had the reference before, the row has the transaction id. */
export function isAbout(row: UnmatchedPayment, attempt: PaymentAttempt): boolean {
  if (isSameRow(row, attempt)) return true;
  const isRenamed = row.reference === attempt.transactionId && row.evidence['reference'] === attempt.reference;
  return isRenamed && row.orderId === attempt.orderId && isSameRow({ ...row, reference: attempt.reference }, attempt);
}

export function namesOf({ provider, reference, merchantAccount, evidence }: UnmatchedPayment): PaymentNames {
  const { transactionId } = evidence;
  const known = typeof transactionId === 'string' ? transactionId : null;
  return { provider, reference, merchantAccount, transactionId: known };
}

/** Pure: returns the same payment as a report for this order. */
export function reportOf(unmatched: UnmatchedPayment, orderId: string): ReportedPayment {
  const { provider, reference, merchantAccount, amount, currency, evidence } = unmatched;
  const { transactionId } = namesOf(unmatched);
  const { paidAt } = evidence;
  const at = typeof paidAt === 'string' ? new Date(paidAt) : undefined;
  return {
    ...{ orderId, provider, reference, amount, currency },
    ...(merchantAccount === null ? {} : { merchantAccount }),
    ...(transactionId === null ? {} : { transactionId }),
    ...(at && !Number.isNaN(at.getTime()) ? { paidAt: at } : {}),
    evidence: { ...evidence, unmatchedPayment: unmatched.id },
  };
}

export function evidenceOfUnmatched({
  id,
  provider,
  reference,
  amount,
  currency,
  reason,
}: UnmatchedPayment): JsonObject {
  return { unmatchedPayment: { id, provider, reference, amount, currency, reason } };
}

type Queries = Pick<EntityManager, 'query'>;

interface Page {
  readonly limit: number;
  readonly after: string;
  readonly merchants: readonly string[] | undefined;
}

type Row = Omit<UnmatchedPayment, 'amount'> & { readonly amount: string };

const columns = (
  orderId = 'p.order_id',
): string => `p.id, p.reason, p.handling, ${orderId} AS "orderId", p.provider, p.reference,
  NULLIF(p.merchant_account, '') AS "merchantAccount", p.amount::text AS amount, p.currency, p.source, p.evidence,
  p.created_at AS "createdAt", p.resolved_at AS "resolvedAt", p.resolved_by AS "resolvedBy", p.resolution`;

/** The table of unmatched money, as operators use it. */
@Injectable()
export class UnmatchedRows {
  constructor(
    private readonly database: Database,
    private readonly scheduler: TimeoutScheduler,
  ) {}

  async page(queries: Queries, { limit, after, merchants }: Page): Promise<UnmatchedPayment[]> {
    return (await queries.query<Row[]>(unmatchedSql(this.database).page, [after, merchants ?? null, limit])).map(
      toUnmatched,
    );
  }

  async find(queries: Queries, id: string, merchants?: readonly string[]): Promise<UnmatchedPayment | undefined> {
    const [row] = await queries.query<Row[]>(unmatchedSql(this.database).find, [id, merchants ?? null]);
    return row && toUnmatched(row);
  }

  /** Locked after its order, like everywhere that handles the money of an order. */
  async lock(tx: EntityManager, id: string): Promise<UnmatchedPayment | undefined> {
    const [row] = await tx.query<Row[]>(unmatchedSql(this.database).lock, [id]);
    return row && toUnmatched(row);
  }

  /**
   * The other rows about the same payment. An order may have told of it as a part of its price, and again after its end. Or
   * no order has the money, which a provider has told under several names, or too long before an order that named its
   * reference: it has a row of its own and one that names that order. A report of such money is about that payment if it is
   * certain which one it means, but its row has no twins: whoever dismisses a false report says nothing of the money.
   */
  async twins(tx: EntityManager, id: string, handling: 'kept' | 'settled'): Promise<UnmatchedPayment[]> {
    return (await tx.query<Row[]>(twinsSql(this.database)[handling], [id])).map(toUnmatched);
  }

  async countKept(queries: Queries): Promise<number> {
    const [row] = await queries.query<{ count: number }[]>(unmatchedSql(this.database).count);
    return row?.count ?? 0;
  }

  /** The number of waiting rows, as `page` lists them, at most `limit`. */
  async countOpen(queries: Queries, limit: number, merchants?: readonly string[]): Promise<number> {
    const [row] = await queries.query<{ count: number }[]>(unmatchedSql(this.database).countOpen, [
      limit,
      merchants ?? null,
    ]);
    return row?.count ?? 0;
  }

  /** Records an operator's decision about a locked row. Orders that this money kept from ending are decided about. */
  async resolve(tx: EntityManager, id: string, handling: 'settled' | 'adopted', why: Why): Promise<void> {
    const values = [id, ...resolutionOf(why), handling];
    const freed = await tx.query<{ id: string }[]>(unmatchedSql(this.database).resolve, values);
    await this.scheduler.schedule(closingsNow(freed.map((order) => order.id)), { tx });
  }

  /** Takes back an operator's decision about a locked row. Who took it stays in the history of the order. */
  async reopen(tx: EntityManager, id: string, handling: UnmatchedHandling): Promise<void> {
    await tx.query(unmatchedSql(this.database).reopen, [id, handling]);
  }

  async reviveLate(tx: EntityManager, orderId: string, why: Why): Promise<void> {
    await tx.query(unmatchedSql(this.database).revive, [orderId, ...resolutionOf(why)]);
  }
}

const unmatchedSql = statements((schema) => {
  const table = `${schema}.unmatched_payment`;
  const isTheirs = (merchants: string): string => `(${merchants}::text[] IS NULL OR EXISTS (
      SELECT 1 FROM ${schema}.orders o WHERE o.id = p.order_id AND o.merchant_id = ANY(${merchants}::text[])))`;
  const resolved = 'resolved_at = now(), resolved_by = $2, resolution = $3';
  const attempt = `SELECT a.order_id FROM ${schema}.payment_attempt a
                WHERE a.provider = p.provider
                  AND (p.merchant_account = '' OR COALESCE(a.resolved_account, a.merchant_account) IN ('', p.merchant_account))`;
  const names = `(p.reference, p.evidence->>'transactionId')`;
  const held = `${attempt} AND a.status IN (${BOOKED_SQL})`;
  // Whoever finds no order for it would refund what an order counts on, or asked for. Orders of other merchants are not named.
  const holder = `CASE WHEN p.reason = 'unknown-order' AND $2::text[] IS NULL THEN COALESCE((
                ${held} AND a.reference IN ${names} UNION ALL ${held} AND a.transaction_id IN ${names}
                UNION ALL ${attempt} AND a.registered AND a.reference = p.reference LIMIT 1), p.order_id)
              ELSE p.order_id END`;
  return {
    // In the same words as the index unmatched_payment_open.
    page: `
      SELECT ${columns(holder)} FROM ${table} p
       WHERE p.handling IN ('kept', 'waiting') AND p.id > $1 AND ${isTheirs('$2')} ORDER BY p.id LIMIT $3`,
    find: `SELECT ${columns()} FROM ${table} p WHERE p.id = $1 AND ${isTheirs('$2')}`,
    lock: `SELECT ${columns()} FROM ${table} p WHERE p.id = $1 FOR NO KEY UPDATE`,
    count: `SELECT count(*)::int AS count FROM ${table}
                      WHERE handling IN ('kept', 'waiting') AND handling = 'kept'`,
    countOpen: `
      SELECT count(*)::int AS count FROM (
        SELECT 1 FROM ${table} p WHERE p.handling IN ('kept', 'waiting') AND ${isTheirs('$2')} LIMIT $1) p`,
    resolve: `
      WITH p AS (UPDATE ${table} SET handling = $4, ${resolved} WHERE id = $1 RETURNING *)
      ${keptFromEnding(schema)}`,
    reopen: `
      UPDATE ${table} SET handling = $2, resolved_at = NULL, resolved_by = NULL, resolution = NULL WHERE id = $1`,
    revive: `
      UPDATE ${table} SET handling = 'revived', ${resolved}
       WHERE order_id = $1 AND reason = 'late' AND handling = 'kept'`,
  };
});

const twinsSql = statements((schema) => {
  const table = `${schema}.unmatched_payment`;
  const idOf = (row: string): string => `${row}.evidence->>'transactionId'`;
  const isEqual = '(p.amount, p.currency) = (o.amount, o.currency)';
  const isEarly = `p.reason IN ('unknown-order', 'attempt-mismatch') AND o.source = 'provider'
             AND (p.merchant_account = o.merchant_account OR '' IN (p.merchant_account, o.merchant_account))`;
  const isConfirmed = `p.source = 'provider' AND o.reason IN ('unknown-order', 'attempt-mismatch')
             AND 'unknown-order' IN (o.reason, p.reason) AND (o.reason = p.reason OR ${isEqual})
             AND (p.reference IN (o.reference, ${idOf('o')}) OR ${idOf('p')} IN (o.reference, ${idOf('o')}))
             AND (p.reference <> o.reference OR ${idOf('p')} = ${idOf('o')})`;
  // Not if several payments have the reference, nor if an order has another one under it.
  const isReported = `p.source = 'report' AND o.reason = 'unknown-order' AND ${isEqual}
             AND (p.reference = ${idOf('o')} OR p.reference = o.reference AND (${idOf('p')} = ${idOf('o')}
                  OR ${idOf('p')} IS NULL AND NOT EXISTS (
                       SELECT 1 FROM ${table} s WHERE s.provider = o.provider AND s.source = 'provider'
                          AND s.reference <> o.reference AND s.evidence->>'reference' = o.reference)))
             AND NOT EXISTS (SELECT 1 FROM ${schema}.payment_attempt a
                              WHERE a.provider = p.provider AND a.reference = p.reference AND a.status IN (${BOOKED_SQL})
                                    AND a.transaction_id IS DISTINCT FROM ${idOf('o')})`;
  const isWhole = `'{${WHOLE_PAYMENT_REASONS.join(',')}}' @> ARRAY[o.reason, p.reason] AND p.reason <> o.reason
             AND (p.order_id, p.reference, p.merchant_account) = (o.order_id, o.reference, o.merchant_account)`;
  const twins = (isMeant: string): string => `
      SELECT ${columns()} FROM ${table} o JOIN ${table} p ON p.provider = o.provider AND p.id <> o.id AND ${isMeant}
       WHERE o.id = $1 AND (${isEarly} AND (${isConfirmed} OR ${isReported}) OR ${isWhole})
       ORDER BY p.id FOR NO KEY UPDATE OF p`;
  return {
    // In the words of the index unmatched_payment_open. Settled ones may be many, but this is rare.
    kept: twins(`p.handling IN ('kept', 'waiting') AND p.handling = 'kept'`),
    settled: twins(`p.handling = 'settled'`),
  };
});

function resolutionOf({ by, reason }: Why): (string | null)[] {
  return [by.actor ?? null, storableText(reason)];
}

/** Other orders that the payment was reported for may be those of other merchants. */
function toUnmatched({ amount, evidence, ...row }: Row): UnmatchedPayment {
  const shown = Object.entries(evidence).filter(([name]) => name !== OTHER_ORDERS);
  return { ...row, amount: Number(amount), evidence: Object.fromEntries(shown) };
}
