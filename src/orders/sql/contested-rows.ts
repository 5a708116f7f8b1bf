import { type EntityManager } from 'typeorm';
import { type AttemptKey, type PaymentAttempt } from '../payment-attempt';
import { PART_REASONS, reasonsSql, type UnmatchedReason, WHOLE_PAYMENT_REASONS } from '../unmatched/unmatched-money';

interface Row {
  readonly provider: string;
  readonly reference: string;
  readonly merchant_account: string;
}

/** The rows of unmatched money about payments that two orders have, or that wait although an order names them. */
export class ContestedRows {
  private readonly reopenSql: string;
  private readonly closeSql: string;
  private readonly neededSql: string;
  private readonly completeSql: string;
  private readonly excessSql: string;
  private readonly lostSql: string;
  private readonly confirmedSql: string;
  private readonly settledSql: string;
  private readonly chargedBackSql: string;

  constructor(schema: string) {
    const table = `${schema}.unmatched_payment`;
    const isOpen = `p.handling IN ('kept', 'waiting')`;
    const isNamed = `p.provider = n.provider AND p.reference = n.reference AND p.merchant_account = n.account
             AND p.order_id = n.order_id`;
    const isClaim = `p.reason = 'attempt-mismatch'`;
    const isUnneeded = `p.reason IN ('late', 'surplus')`;
    const isOutdated = `(${isUnneeded} OR p.reason = 'overpaid' AND p.source = 'report')`;
    const named = `unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[])
               AS n(provider, reference, account, order_id, amount, currency)`;
    const unresolved = 'resolved_at = NULL, resolved_by = NULL, resolution = NULL';
    this.reopenSql = `
      UPDATE ${table} p SET handling = 'waiting', ${unresolved} FROM ${named}
       WHERE ${isNamed} AND ${isClaim} AND NOT ${isOpen}`;
    this.closeSql = `
      UPDATE ${table} p SET handling = 'adopted' FROM ${named}
       WHERE ${isNamed} AND ${isOpen}
             AND (${isClaim} AND p.amount = n.amount AND p.currency = n.currency OR ${isOutdated})`;
    this.neededSql = `
      UPDATE ${table} p SET handling = 'adopted' FROM ${named}
       WHERE ${isNamed} AND ${isOpen} AND ${isUnneeded}`;
    this.completeSql = `
      UPDATE ${table} p SET handling = 'completed' FROM ${named}
       WHERE ${isNamed} AND ${isOpen} AND p.reason IN (${reasonsSql(PART_REASONS)})`;
    this.excessSql = `
      UPDATE ${table} p SET handling = 'adopted' FROM ${named} WHERE ${isNamed} AND ${isOpen} AND p.reason = 'overpaid'`;
    this.lostSql = `
      SELECT provider, reference, merchant_account FROM ${table}
       WHERE order_id = $1 AND reason = 'attempt-mismatch' AND handling IN ('kept', 'settled')`;
    // Other reasons are about payments that an order has booked. A notification of an attempt names no order.
    const isWaiting = `p.source = 'provider' AND p.reason IN ('unknown-order', 'attempt-mismatch', 'invalid-amount') AND ${isOpen}`;
    // An account that is not known may be any.
    const account = 'COALESCE(a.resolved_account, a.merchant_account)';
    this.confirmedSql = `
      SELECT provider, reference, merchant_account FROM ${table} p
       WHERE p.order_id = $1 AND ${isWaiting}
      UNION
      SELECT p.provider, p.reference, p.merchant_account FROM ${schema}.payment_attempt a
        JOIN ${table} p ON p.provider = a.provider AND p.reference = a.reference
       WHERE a.order_id = $1 AND ${isWaiting}
             AND ('' IN (p.merchant_account, ${account}) OR p.merchant_account = ${account})`;
    this.chargedBackSql = `
      SELECT p.provider, p.reference, p.merchant_account FROM ${named}, ${table} p
       WHERE p.provider = n.provider AND p.reference = n.reference AND p.merchant_account = n.account
             AND p.reason = 'chargeback' AND p.handling = 'kept'`;
    this.settledSql = `
      SELECT reason FROM ${table}
       WHERE provider = $1 AND reference = $2 AND merchant_account = $3 AND handling = 'settled'
         AND reason IN (${reasonsSql([...WHOLE_PAYMENT_REASONS, 'unknown-order'])}) ORDER BY resolved_at DESC LIMIT 1`;
  }

  /** Lets `keepUnmatched` tell of these claims again, although a person has handled an earlier report of them. */
  async reopen(tx: EntityManager, claims: readonly PaymentAttempt[]): Promise<void> {
    await tx.query(this.reopenSql, parameters(claims));
  }

  /**
   * Closes refused reports of payments that their own order now has and needs, and what told a person that it does not, or
   * that a report stated too much. A claim to another amount stays.
   */
  async close(tx: EntityManager, payments: readonly PaymentAttempt[]): Promise<void> {
    await tx.query(this.closeSql, parameters(payments));
  }

  /** Closes what told a person that these payments are not needed. They pay their order now, instead of others. */
  async closeNeeded(tx: EntityManager, payments: readonly PaymentAttempt[]): Promise<void> {
    await tx.query(this.neededSql, parameters(payments));
  }

  /** Closes what told a person that these payments are too little. The rest has arrived. */
  async completeParts(tx: EntityManager, payments: readonly PaymentAttempt[]): Promise<void> {
    await tx.query(this.completeSql, parameters(payments));
  }

  /** Closes what told a person that a part of these payments is too much. */
  async closeExcess(tx: EntityManager, payments: readonly PaymentAttempt[]): Promise<void> {
    if (payments.length > 0) await tx.query(this.excessSql, parameters(payments));
  }

  /** The payments of this order that another order may have got. */
  async lostBy(tx: EntityManager, orderId: string): Promise<readonly AttemptKey[]> {
    return (await tx.query<Row[]>(this.lostSql, [orderId])).map(toKey);
  }

  /** The reason of the row that a person has settled last about the money of this attempt. Undefined: the row is gone. */
  async settledReason(
    tx: EntityManager,
    { provider, reference, merchantAccount }: AttemptKey,
  ): Promise<UnmatchedReason | undefined> {
    const names = [provider, reference, merchantAccount ?? ''];
    return (await tx.query<{ reason: UnmatchedReason }[]>(this.settledSql, names))[0]?.reason;
  }

  /** Those of these payments that the buyer's bank takes back, as far as no person has dealt with that. */
  async chargedBack(tx: EntityManager, payments: readonly PaymentAttempt[]): Promise<readonly AttemptKey[]> {
    return (await tx.query<Row[]>(this.chargedBackSql, parameters(payments))).map(toKey);
  }

  /** Confirmed money that no order has booked, and that names this order or one of its attempts. */
  async confirmedOf(tx: EntityManager, orderId: string): Promise<readonly AttemptKey[]> {
    return (await tx.query<Row[]>(this.confirmedSql, [orderId])).map(toKey);
  }
}

function parameters(attempts: readonly PaymentAttempt[]): unknown[] {
  return [
    attempts.map(({ provider }) => provider),
    attempts.map(({ reference }) => reference),
    attempts.map(({ merchantAccount }) => merchantAccount ?? ''),
    attempts.map(({ orderId }) => orderId),
    attempts.map(({ paidAmount }) => paidAmount?.toString() ?? null),
    attempts.map(({ paidCurrency }) => paidCurrency),
  ];
}

function toKey({ provider, reference, merchant_account: account }: Row): AttemptKey {
  return { provider, reference, merchantAccount: account === '' ? null : account };
}
