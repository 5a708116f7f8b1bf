import { type EntityManager } from 'typeorm';
import { storableJson, storableText } from '../../database';
import { type JsonObject } from '../../outbox';
import { type PaymentAttempt } from '../payment-attempt';
import { HELD_MONEY_REASONS, reasonsSql } from '../unmatched/unmatched-money';

/** The new state of an attempt of a locked order. `evidence` null: the stored evidence stays. */
export interface AttemptWrite {
  readonly attempt: PaymentAttempt;
  /** It has no row yet. */
  readonly isNew?: boolean;
  readonly evidence: JsonObject | null;
}

/**
 * Writes the current state of known attempts of locked orders in one statement, for any number of attempts. Rows that told
 * a person of money which an attempt turns out not to hold are closed: another attempt has it, or a report was wrong.
 */
export class WriteAttempts {
  private readonly sql: string;

  constructor(schema: string) {
    this.sql = `
      WITH f AS (
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::bigint[],
                             $8::text[], $9::timestamptz[], $10::text[], $11::text[], $12::text[], $13::text[])
          AS f(provider, reference, merchant_account, order_id, status, registered, paid_amount, paid_currency, paid_at,
               transaction_id, paid_source, evidence, resolved_account)),
      answered AS (
        UPDATE ${schema}.unmatched_payment p SET handling = 'adopted'
          FROM f, LATERAL (
            SELECT o.id FROM ${schema}.unmatched_payment o
             WHERE o.provider = f.provider AND o.reference = f.reference AND o.merchant_account = f.merchant_account
                   AND o.reason IN (${reasonsSql(HELD_MONEY_REASONS)})
                   AND o.handling IN ('kept', 'waiting') OFFSET 0) o
         WHERE f.paid_amount IS NULL AND p.id = o.id),
      written AS (
      UPDATE ${schema}.payment_attempt a
         SET status = f.status, registered = f.registered, paid_amount = f.paid_amount, paid_currency = f.paid_currency,
             paid_at = f.paid_at, transaction_id = f.transaction_id, paid_source = f.paid_source,
             resolved_account = COALESCE(a.resolved_account, f.resolved_account),
             evidence = COALESCE(f.evidence::jsonb, a.evidence), updated_at = now()
        FROM f
       WHERE a.provider = f.provider AND a.reference = f.reference AND a.merchant_account = f.merchant_account
             AND a.order_id = f.order_id
      RETURNING 1)
      SELECT 1 FROM written`;
  }

  /** @throws Error if a row is missing although its order is locked. That is a bug; the transaction rolls back. */
  async execute(tx: EntityManager, writes: readonly AttemptWrite[]): Promise<void> {
    if (writes.length === 0) return;
    const attempts = writes.map(({ attempt }) => attempt);
    const rows = await tx.query<unknown[]>(this.sql, [
      attempts.map((attempt) => attempt.provider),
      attempts.map((attempt) => attempt.reference),
      attempts.map((attempt) => attempt.merchantAccount ?? ''),
      attempts.map((attempt) => attempt.orderId),
      attempts.map((attempt) => attempt.status),
      attempts.map((attempt) => attempt.registered),
      attempts.map((attempt) => attempt.paidAmount?.toString() ?? null),
      attempts.map((attempt) => attempt.paidCurrency),
      attempts.map((attempt) => attempt.paidAt?.toISOString() ?? null),
      attempts.map(({ transactionId }) => (transactionId === null ? null : storableText(transactionId))),
      attempts.map((attempt) => attempt.paidSource),
      writes.map(({ evidence }) => (evidence === null ? null : storableJson(evidence))),
      attempts.map((attempt) => attempt.resolvedAccount),
    ]);
    if (rows.length !== writes.length) throw new Error('a payment attempt disappeared under the lock of its order');
  }
}
