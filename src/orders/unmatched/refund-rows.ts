import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { Database, statements, storableJson, storableText } from '../../database';
import { type PaymentEvidence } from '../../payments';
import { type AttemptKey, type PaymentAttempt } from '../model/order';
import { type AttemptRow, ATTEMPT_COLUMNS, toAttempt } from '../sql/order-rows';
import {
  type Refund,
  type RefundReason,
  FAILED_REFUND_REASONS,
  reasonsSql,
  type UnmatchedReason,
} from '../model/unmatched-money';

interface RefundRow {
  readonly number: string;
  readonly provider: string;
  readonly reference: string;
  readonly merchant_account: string;
  readonly order_id: string;
  readonly amount: string;
  readonly currency: string;
  readonly reason: RefundReason;
  readonly status: 'PENDING' | 'REFUNDED';
  readonly refund_id: string | null;
  readonly is_confirmed: boolean;
  readonly attempt: AttemptRow;
}

/** A refund that its provider can be asked for, with its attempt. */
export interface AskableRefund {
  readonly refund: Refund;
  readonly attempt: PaymentAttempt;
  /** The provider has confirmed it, and it is recorded as done. It may have failed since. */
  readonly isConfirmed: boolean;
  /** Set if a person has paid it back and recorded that in the row. Absent: the provider must be called. */
  readonly paidBackAs?: string;
}

/**
 * A refund decides nothing about these: whose money it is, what the bank does, or another refund. What the provider stated
 * may have been another payment under the same reference.
 */
const NOT_DECIDED: readonly UnmatchedReason[] = [
  'attempt-mismatch',
  'unknown-order',
  'chargeback',
  'invalid-amount',
  'excess-refund-failed',
];

/** The table of refunds. */
@Injectable()
export class RefundRows {
  constructor(private readonly database: Database) {}

  /** @param requestedBy the operator who requested them. */
  async insert(tx: EntityManager, refunds: readonly Refund[], requestedBy?: string): Promise<void> {
    await tx.query(refundSql(this.database).insert, [
      refunds.map((refund) => refund.number),
      refunds.map((refund) => refund.provider),
      refunds.map((refund) => refund.reference),
      refunds.map((refund) => refund.orderId),
      refunds.map((refund) => refund.amount.toString()),
      refunds.map((refund) => refund.currency),
      refunds.map((refund) => refund.reason),
      refunds.map((refund) => refund.merchantAccount ?? ''),
      requestedBy ?? null,
    ]);
    // The money waited for the rest, which did not arrive, or for a person, who has decided.
    await tx.query(refundSql(this.database).note, [
      refunds.map((refund) => refund.provider),
      refunds.map((refund) => refund.reference),
      refunds.map((refund) => refund.merchantAccount ?? ''),
      refunds.map((refund) => refund.reason),
    ]);
  }

  /** Notes that this much of the payment, which was too much, has gone back. */
  async countExcess(
    tx: EntityManager,
    { provider, reference, merchantAccount }: AttemptKey,
    amount: number,
  ): Promise<void> {
    await tx.query(refundSql(this.database).excess, [provider, reference, merchantAccount ?? '', amount]);
  }

  /** Whether the excess of this payment was left to a person before, or refunded. A report decides nothing. */
  async isExcessDecided(tx: EntityManager, { provider, reference, merchantAccount }: AttemptKey): Promise<boolean> {
    return (
      (await tx.query<unknown[]>(refundSql(this.database).decided, [provider, reference, merchantAccount ?? '']))
        .length > 0
    );
  }

  /** The refunds among these that are not done, or that the provider has confirmed, by number. */
  async askable(numbers: readonly string[], tx?: EntityManager): Promise<ReadonlyMap<string, AskableRefund>> {
    const rows = await (tx
      ? tx.query<RefundRow[]>(refundSql(this.database).askable, [numbers])
      : this.database.query<RefundRow[]>(refundSql(this.database).askable, [numbers]));
    return new Map(rows.map((row) => [row.number, toAskableRefund(row)]));
  }

  /** The refunds of this order. `isConfirmed`: the provider has confirmed it. */
  ofOrder(orderId: string): Promise<{ readonly number: string; readonly isConfirmed: boolean }[]> {
    return this.database.query(refundSql(this.database).ofOrder, [orderId]);
  }

  /** Records that the money is refunded, and that no person needs to do it anymore. */
  async finish(
    tx: EntityManager,
    number: string,
    answer: { readonly refundId: string; readonly evidence: PaymentEvidence },
  ): Promise<void> {
    await tx.query(refundSql(this.database).finish, [
      number,
      storableText(answer.refundId),
      storableJson(answer.evidence),
    ]);
    await tx.query(refundSql(this.database).closeFailure, [number]);
  }

  /** Records that a refund that was done has failed. */
  async reopen(tx: EntityManager, number: string): Promise<void> {
    await tx.query(refundSql(this.database).reopen, [number]);
  }

  /**
   * Records that a person has paid back the money of a refund that failed.
   *
   * @param id of the unmatched payment that reports the failure.
   * @returns the number of the refund. Undefined: it is done, or the row reports something else.
   */
  async payBack(tx: EntityManager, id: string, how: string): Promise<string | undefined> {
    const [rows] = await tx.query<[{ number: string }[], number]>(refundSql(this.database).payBack, [
      id,
      storableText(how),
    ]);
    return rows[0]?.number;
  }

  /** Records that a person has not paid it back after all. Returns the number of the refund, which is pending again. */
  async takeBack(tx: EntityManager, id: string): Promise<string | undefined> {
    const [rows] = await tx.query<[{ number: string }[], number]>(refundSql(this.database).takeBack, [id]);
    return rows[0]?.number;
  }

  /** Whether any money of this order is being refunded. */
  async hasPending(tx: EntityManager, orderId: string): Promise<boolean> {
    return (await tx.query<unknown[]>(refundSql(this.database).pending, [orderId])).length > 0;
  }
}

const refundSql = statements((schema) => {
  const isAttempt = 'a.provider = r.provider AND a.reference = r.reference AND a.merchant_account = r.merchant_account';
  // What a person has paid back has no evidence. Asking the provider for it could pay it back twice.
  const isConfirmed = `r.status = 'REFUNDED' AND r.evidence IS NOT NULL`;
  const isItsFailure = `p.provider = r.provider AND p.reference = r.reference AND p.merchant_account = r.merchant_account
             AND p.reason IN (${reasonsSql(FAILED_REFUND_REASONS)}) AND p.evidence->>'refundNumber' = r.number`;
  const pending = `status = 'PENDING', refund_id = NULL, refunded_at = NULL`;
  const hasFailed = `FROM ${schema}.unmatched_payment p WHERE p.id = $1 AND ${isItsFailure}`;
  return {
    insert: `
      WITH begun AS (
        INSERT INTO ${schema}.refund
               (number, provider, reference, order_id, amount, currency, reason, merchant_account, requested_by)
        SELECT r.*, $9::text
          FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[]) AS r
        ON CONFLICT DO NOTHING
        RETURNING *)
      UPDATE ${schema}.payment_attempt a SET refunded_amount = a.refunded_amount + r.amount, updated_at = now()
        FROM begun r WHERE r.reason = 'overpaid' AND ${isAttempt}`,
    note: `
      UPDATE ${schema}.unmatched_payment p SET handling = 'refunding'
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS k(provider, reference, account, reason)
       WHERE p.provider = k.provider AND p.reference = k.reference AND p.merchant_account = k.account
             AND p.handling IN ('waiting', 'kept') AND p.reason NOT IN (${reasonsSql(NOT_DECIDED)})
             AND (k.reason <> 'overpaid' OR p.reason = 'overpaid')`,
    excess: `
      UPDATE ${schema}.payment_attempt SET refunded_amount = GREATEST(refunded_amount + $4, 0), updated_at = now()
       WHERE provider = $1 AND reference = $2 AND merchant_account = $3`,
    decided: `
      SELECT 1 FROM ${schema}.unmatched_payment p
       WHERE p.provider = $1 AND p.reference = $2 AND (p.merchant_account IN ($3, '') OR $3 = '')
             AND p.reason = 'overpaid' AND NOT (p.handling = 'kept' AND p.source = 'report' OR p.handling = 'adopted')`,
    askable: `
      SELECT r.number, r.provider, r.reference, r.merchant_account, r.order_id, r.amount, r.currency, r.reason, r.status, r.refund_id,
             ${isConfirmed} AS is_confirmed,
             (SELECT row_to_json(found) FROM (
                SELECT ${ATTEMPT_COLUMNS} FROM ${schema}.payment_attempt a
                 WHERE ${isAttempt}) found) AS attempt
        FROM ${schema}.refund r
       WHERE r.number = ANY($1::text[]) AND (r.reason = 'overpaid' OR EXISTS (
         SELECT 1 FROM ${schema}.payment_attempt a
          WHERE ${isAttempt} AND (a.status = 'REFUNDING' OR a.status = 'REFUNDED' AND ${isConfirmed})))`,
    finish: `
      UPDATE ${schema}.refund SET status = 'REFUNDED', refund_id = $2, evidence = $3::jsonb, refunded_at = now()
       WHERE number = $1 AND status = 'PENDING'`,
    closeFailure: `
      UPDATE ${schema}.unmatched_payment p SET handling = 'refunding' FROM ${schema}.refund r
       WHERE r.number = $1 AND ${isItsFailure} AND p.handling = 'kept'`,
    reopen: `UPDATE ${schema}.refund SET ${pending}, evidence = NULL WHERE number = $1`,
    payBack: `
      UPDATE ${schema}.refund r SET status = 'REFUNDED', refund_id = $2, refunded_at = now() ${hasFailed}
         AND r.status = 'PENDING' RETURNING r.number`,
    takeBack: `
      UPDATE ${schema}.refund r SET ${pending} ${hasFailed} AND r.status = 'REFUNDED' AND r.evidence IS NULL RETURNING r.number`,
    ofOrder: `SELECT r.number, ${isConfirmed} AS "isConfirmed" FROM ${schema}.refund r WHERE r.order_id = $1`,
    pending: `SELECT 1 FROM ${schema}.refund WHERE order_id = $1 AND status = 'PENDING' LIMIT 1`,
  };
});

function toAskableRefund(row: RefundRow): AskableRefund {
  const { number, provider, reference, currency, reason } = row;
  const merchantAccount = row.merchant_account === '' ? null : row.merchant_account;
  const key = { provider, reference, merchantAccount };
  const refund = { number, ...key, currency, reason, orderId: row.order_id, amount: BigInt(row.amount) };
  const { is_confirmed: isConfirmed } = row;
  const isPaidBack = row.status === 'REFUNDED' && !isConfirmed;
  const paidBack = isPaidBack ? { paidBackAs: row.refund_id ?? 'by hand' } : {};
  return { refund, attempt: toAttempt(row.attempt), isConfirmed, ...paidBack };
}
