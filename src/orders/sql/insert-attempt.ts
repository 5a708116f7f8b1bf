import { type EntityManager } from 'typeorm';
import { storableJson, storableText } from '../../events';
import { type PaymentAttempt } from '../payment-attempt';

/** Writes one attempt of a locked order. */
export class InsertAttempt {
  private readonly register: string;
  private readonly pay: string;
  private readonly limit: string;

  constructor(schema: string) {
    const insert = `
      INSERT INTO ${schema}.payment_attempt AS a
             (provider, reference, order_id, merchant_account, status, amount, currency, time_expire,
              paid_amount, paid_currency, paid_at, transaction_id, evidence)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
      ON CONFLICT (provider, reference) DO UPDATE SET status = EXCLUDED.status, updated_at = now(), `;
    this.register = `${insert} time_expire = COALESCE(EXCLUDED.time_expire, a.time_expire)
       WHERE a.order_id = EXCLUDED.order_id AND a.status = 'CREATED'
       RETURNING EXISTS (
         SELECT 1 FROM ${schema}.orphan_payment p WHERE p.provider = $1 AND p.reference = $2
            AND p.reason = 'unknown-order' AND p.handling = 'kept') AS has_money`;
    this.limit = `
      UPDATE ${schema}.payment_attempt SET time_expire = $3, updated_at = now()
       WHERE provider = $1 AND reference = $2 AND time_expire IS NULL`;
    this.pay = `${insert} merchant_account = COALESCE(a.merchant_account, EXCLUDED.merchant_account), paid_amount = EXCLUDED.paid_amount, paid_currency = EXCLUDED.paid_currency,
             paid_at = EXCLUDED.paid_at, transaction_id = EXCLUDED.transaction_id, evidence = EXCLUDED.evidence
       WHERE a.order_id = EXCLUDED.order_id AND a.status NOT IN ('PAID', 'REFUNDING', 'REFUNDED') RETURNING 1`;
  }

  /**
   * Registers an attempt, or turns the order's own CREATED one into an open one. Undefined: it is taken. `hasMoney`: its
   * payment was reported before.
   */
  async asOpen(tx: EntityManager, attempt: PaymentAttempt): Promise<{ readonly hasMoney: boolean } | undefined> {
    const [row] = await tx.query<{ has_money: boolean }[]>(this.register, parameters(attempt, null));
    return row && { hasMoney: row.has_money };
  }

  /** Notes the time limit of an attempt that was registered without one. */
  async limitTime(tx: EntityManager, attempt: PaymentAttempt): Promise<void> {
    await tx.query(this.limit, [attempt.provider, attempt.reference, attempt.timeExpire?.toISOString() ?? null]);
  }

  /** Books a payment on the order's attempt, known or not. False: it is another order's, or booked already. */
  async asPaid(tx: EntityManager, attempt: PaymentAttempt, evidence: object): Promise<boolean> {
    return (await tx.query<unknown[]>(this.pay, parameters(attempt, evidence))).length > 0;
  }
}

function parameters(attempt: PaymentAttempt, evidence: object | null): unknown[] {
  return [
    attempt.provider,
    attempt.reference,
    attempt.orderId,
    attempt.merchantAccount,
    attempt.status,
    attempt.amount.toString(),
    attempt.currency,
    attempt.timeExpire?.toISOString() ?? null,
    attempt.paidAmount?.toString() ?? null,
    attempt.paidCurrency,
    attempt.paidAt?.toISOString() ?? null,
    attempt.transactionId === null ? null : storableText(attempt.transactionId),
    evidence === null ? null : storableJson(evidence),
  ];
}
