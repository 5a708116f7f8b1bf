import { type EntityManager } from 'typeorm';
import { storableJson, storableText } from '../../database';
import { type PaymentAttempt } from '../payment-attempt';
import { type DefaultAccounts, earlyMoney, mayBeUnknown, takenByOther } from './wanted-attempt';

/** Writes one attempt of a locked order. */
export class InsertAttempt {
  private readonly register: string;
  private readonly pay: string;
  private readonly limit: string;

  constructor(schema: string) {
    const insert = `
      INSERT INTO ${schema}.payment_attempt AS a
             (provider, reference, order_id, merchant_account, status, amount, currency, time_expire,
              registered, paid_amount, paid_currency, paid_at, transaction_id, paid_source, evidence)
      SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::bigint, $7::text, $8::timestamptz,
             $9::boolean, $10::bigint, $11::text, $12::timestamptz, $13::text, $14::text, $15::jsonb`;
    const onConflict = 'ON CONFLICT (provider, reference, merchant_account) DO';
    const wanted = { provider: '$1', reference: '$2', orderId: '$3', account: '$4', mayBeUnknown: '$16::boolean' };
    // It is handed over now. Some providers depend on its age: the close of a young payment needs a confirmation.
    this.register = `${insert} WHERE ${takenByOther(schema, wanted)} IS NULL ${onConflict} UPDATE
         SET status = EXCLUDED.status, updated_at = now(), created_at = now(),
             time_expire = COALESCE(EXCLUDED.time_expire, a.time_expire)
       WHERE a.order_id = EXCLUDED.order_id AND a.status = 'CREATED'
       RETURNING EXISTS ${earlyMoney(schema, wanted)} AS has_money`;
    this.limit = `
      UPDATE ${schema}.payment_attempt SET time_expire = $4, updated_at = now()
       WHERE provider = $1 AND reference = $2 AND merchant_account = $3`;
    this.pay = `${insert} ${onConflict} NOTHING RETURNING 1`;
  }

  /**
   * Registers an attempt, or opens the order's own CREATED one. Undefined: the attempt exists already. `hasMoney`: its
   * payment may have been reported before.
   */
  async asOpen(
    tx: EntityManager,
    attempt: PaymentAttempt,
    providers: DefaultAccounts,
  ): Promise<{ readonly hasMoney: boolean } | undefined> {
    const values = [...parameters(attempt, null), mayBeUnknown(attempt, providers)];
    const [row] = await tx.query<{ has_money: boolean }[]>(this.register, values);
    return row && { hasMoney: row.has_money };
  }

  /** Sets the time limit of an attempt that was registered without one or with an earlier one. */
  async limitTime(
    tx: EntityManager,
    { provider, reference, merchantAccount, timeExpire }: PaymentAttempt,
  ): Promise<void> {
    await tx.query(this.limit, [provider, reference, merchantAccount ?? '', timeExpire?.toISOString() ?? null]);
  }

  /** Writes the attempt of a payment that was not registered. False: another order has it. */
  async asPaid(tx: EntityManager, attempt: PaymentAttempt, evidence: object | null): Promise<boolean> {
    return (await tx.query<unknown[]>(this.pay, parameters(attempt, evidence))).length > 0;
  }
}

function parameters(attempt: PaymentAttempt, evidence: object | null): unknown[] {
  return [
    attempt.provider,
    attempt.reference,
    attempt.orderId,
    attempt.merchantAccount ?? '',
    attempt.status,
    attempt.amount.toString(),
    attempt.currency,
    attempt.timeExpire?.toISOString() ?? null,
    attempt.registered,
    attempt.paidAmount?.toString() ?? null,
    attempt.paidCurrency,
    attempt.paidAt?.toISOString() ?? null,
    attempt.transactionId === null ? null : storableText(attempt.transactionId),
    attempt.paidSource,
    evidence === null ? null : storableJson(evidence),
  ];
}
