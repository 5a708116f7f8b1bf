import { type DataSource, type EntityManager } from 'typeorm';
import { ownQuery, storableJson, storableText } from '../../database';
import { type PaymentEvidence } from '../../payments';
import { type PaymentAttempt } from '../payment-attempt';
import { type AttemptRow, ATTEMPT_COLUMNS, toAttempt } from '../sql/order-row';
import { type Refund, type RefundReason } from './refund';

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
  readonly created_at: Date;
  readonly attempt: AttemptRow;
}

/** A refund that is not recorded as done on its attempt, with that attempt. */
export interface OpenRefund {
  readonly refund: Refund;
  readonly attempt: PaymentAttempt;
  readonly createdAt: Date;
  /** Set if a person has paid it back and recorded that in the row. Absent: the provider must be called. */
  readonly paidBackAs?: string;
}

/** The table of refunds. */
export class RefundRows {
  private readonly insertSql: string;
  private readonly noteSql: string;
  private readonly openSql: string;
  private readonly finishSql: string;
  private readonly pendingSql: string;

  constructor(
    private readonly dataSource: DataSource,
    schema: string,
  ) {
    const isAttempt =
      'a.provider = r.provider AND a.reference = r.reference AND a.merchant_account = r.merchant_account';
    this.insertSql = `
      INSERT INTO ${schema}.refund
             (number, provider, reference, order_id, amount, currency, reason, merchant_account, requested_by)
      SELECT r.*, $9::text
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[]) AS r
      ON CONFLICT DO NOTHING`;
    this.noteSql = `
      UPDATE ${schema}.unmatched_payment p SET handling = 'refunding'
        FROM unnest($1::text[], $2::text[], $3::text[]) AS k(provider, reference, account)
       WHERE p.provider = k.provider AND p.reference = k.reference AND p.merchant_account = k.account
             AND p.handling IN ('waiting', 'kept') AND p.reason NOT IN ('attempt-mismatch', 'unknown-order')`;
    this.openSql = `
      SELECT r.number, r.provider, r.reference, r.merchant_account, r.order_id, r.amount, r.currency, r.reason, r.created_at, r.status, r.refund_id,
             (SELECT row_to_json(found) FROM (
                SELECT ${ATTEMPT_COLUMNS} FROM ${schema}.payment_attempt a
                 WHERE ${isAttempt}) found) AS attempt
        FROM ${schema}.refund r
       WHERE r.number = ANY($1::text[]) AND EXISTS (
         SELECT 1 FROM ${schema}.payment_attempt a
          WHERE ${isAttempt} AND a.status = 'REFUNDING')`;
    this.finishSql = `
      UPDATE ${schema}.refund SET status = 'REFUNDED', refund_id = $2, evidence = $3::jsonb, refunded_at = now()
       WHERE number = $1 AND status = 'PENDING'`;
    this.pendingSql = `SELECT 1 FROM ${schema}.refund WHERE order_id = $1 AND status = 'PENDING' LIMIT 1`;
  }

  /** @param requestedBy the operator who requested them. */
  async insert(tx: EntityManager, refunds: readonly Refund[], requestedBy?: string): Promise<void> {
    await tx.query(this.insertSql, [
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
    await tx.query(this.noteSql, [
      refunds.map((refund) => refund.provider),
      refunds.map((refund) => refund.reference),
      refunds.map((refund) => refund.merchantAccount ?? ''),
    ]);
  }

  /** The refunds among these that are not recorded as done, by number. */
  async open(numbers: readonly string[], tx?: EntityManager): Promise<ReadonlyMap<string, OpenRefund>> {
    const rows = await (tx
      ? tx.query<RefundRow[]>(this.openSql, [numbers])
      : ownQuery<RefundRow[]>(this.dataSource, this.openSql, [numbers]));
    return new Map(rows.map((row) => [row.number, toOpenRefund(row)]));
  }

  /** Records that the money is refunded. */
  async finish(
    tx: EntityManager,
    number: string,
    answer: { readonly refundId: string; readonly evidence: PaymentEvidence },
  ): Promise<void> {
    await tx.query(this.finishSql, [number, storableText(answer.refundId), storableJson(answer.evidence)]);
  }

  /** Whether any money of this order is being refunded. */
  async hasPending(tx: EntityManager, orderId: string): Promise<boolean> {
    return (await tx.query<unknown[]>(this.pendingSql, [orderId])).length > 0;
  }
}

function toOpenRefund(row: RefundRow): OpenRefund {
  const { number, provider, reference, currency, reason } = row;
  const merchantAccount = row.merchant_account === '' ? null : row.merchant_account;
  const key = { provider, reference, merchantAccount };
  const refund = { number, ...key, currency, reason, orderId: row.order_id, amount: BigInt(row.amount) };
  const paidBack = row.status === 'REFUNDED' ? { paidBackAs: row.refund_id ?? 'by hand' } : {};
  return { refund, attempt: toAttempt(row.attempt), createdAt: row.created_at, ...paidBack };
}
