import { type EntityManager } from 'typeorm';
import { announceAfterCommit, storableJson } from '../../events';
import { outboxEvent } from '../order-events';
import { type UnexpectedMoney } from '../order-store';

/** Keeps money that fits no order, with its event, once per (provider, reference, reason): reports come in doubles. */
export class KeepUnexpectedMoney {
  private readonly sql: string;

  constructor(schema: string) {
    this.sql = `
      WITH money AS (
        SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[],
                             $8::text[], $9::text[], $10::text[], $11::text[])
          AS m(id, provider, reference, order_id, amount, currency, evidence, reason, body, traceparent, handling)),
      kept AS (
        INSERT INTO ${schema}.orphan_payment (id, provider, reference, order_id, amount, currency, evidence, reason, handling)
        SELECT id, provider, reference, order_id, amount, currency, evidence::jsonb, reason, handling FROM money
        ON CONFLICT (provider, reference, reason) DO NOTHING RETURNING id)
      INSERT INTO ${schema}.outbox (id, route, routing_key, body, traceparent)
      SELECT id, 'event', 'order.payment_late', body::jsonb, traceparent FROM money JOIN kept USING (id)`;
  }

  async execute(tx: EntityManager, money: readonly UnexpectedMoney[]): Promise<void> {
    if (money.length === 0) return;
    const rows = money.map((one) => ({ ...one, event: eventOf(one) }));
    await tx.query(this.sql, [
      rows.map((row) => row.event.id),
      rows.map((row) => row.provider),
      rows.map((row) => row.reference),
      rows.map((row) => row.orderId),
      rows.map((row) => row.amount.toString()),
      rows.map((row) => row.currency),
      rows.map((row) => storableJson(row.evidence)),
      rows.map((row) => row.reason),
      rows.map((row) => storableJson(row.event.body)),
      rows.map((row) => row.traceparent ?? null),
      rows.map((row) => row.handling),
    ]);
    announceAfterCommit(tx);
  }
}

function eventOf(money: UnexpectedMoney) {
  const { orderId, provider, reference, amount, currency, reason, handling, now, traceparent } = money;
  const details = { orderId, provider, reference, amount: Number(amount), currency, reason, handling };
  return outboxEvent('order.payment_late', details, now, traceparent);
}
