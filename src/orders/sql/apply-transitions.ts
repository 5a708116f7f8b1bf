import { type OrderStatus } from '../order-status';
import { type EntityManager } from 'typeorm';
import { announceAfterCommit, insertEvents } from '../../outbox';
import { storableJson } from '../../database';
import { type Inventory, type StockEffect } from '../../inventory';
import { type EventReporting } from '../listeners/order-audience';
import { type Transition } from '../transition';
import { PART_REASONS, reasonsSql } from '../unmatched/unmatched-money';

/**
 * Writes transitions with at most three statements, and one each for the listeners and the stock, for any number of
 * orders. Status, history,
 * and event of an order are all derived from the row that the compare-and-set returns, so none is written without the
 * others.
 */
export class ApplyTransitions {
  private readonly sql: Record<StockEffect | 'none', string>;

  constructor(
    schema: string,
    private readonly inventory: Inventory,
    private readonly reporting: EventReporting,
  ) {
    this.sql = {
      none: transitionSql(schema, 'none', reporting.writesEvents),
      release: transitionSql(schema, 'release', reporting.writesEvents),
      commit: transitionSql(schema, 'commit', reporting.writesEvents),
    };
  }

  async execute(tx: EntityManager, transitions: readonly Transition[]): Promise<ReadonlySet<string>> {
    if (transitions.length === 0) return new Set();
    const none = await this.move(tx, 'none', transitions);
    const release = await this.move(tx, 'release', transitions);
    const commit = await this.move(tx, 'commit', transitions);
    const moved = new Set([...none, ...release, ...commit]);
    const events = transitions.filter(({ order }) => moved.has(order.id)).map(({ event }) => event);
    await this.reporting.audience.tell(tx, events);
    // Last, because these goods are locked until the commit, and two batches nearly always share some.
    await this.inventory.end(tx, { release, commit });
    announceAfterCommit(tx);
    return moved;
  }

  private async move(
    tx: EntityManager,
    effect: StockEffect | 'none',
    transitions: readonly Transition[],
  ): Promise<string[]> {
    const steps = transitions.filter((step) => effectOf(step) === effect);
    if (steps.length === 0) return [];
    const rows = await tx.query<{ id: string }[]>(this.sql[effect], parameters(steps));
    return rows.map(({ id }) => id);
  }
}

/** The effect of each status on the stock of an order that enters it. */
const STOCK_EFFECTS = {
  PENDING: 'none',
  CLOSING: 'none',
  CLOSED: 'release',
  CANCELLED: 'release',
  PAID: 'commit',
  REFUNDING: 'none',
  CLOSED_REFUNDED: 'none',
} as const satisfies Record<OrderStatus, StockEffect | 'none'>;

function effectOf({ to }: Transition): StockEffect | 'none' {
  return STOCK_EFFECTS[to];
}

function parameters(steps: readonly Transition[]): unknown[] {
  return [
    steps.map(({ order }) => order.id),
    steps.map(({ order }) => order.version),
    steps.map(({ order }) => order.status),
    steps.map(({ to }) => to),
    steps.map(({ closingReason }) => closingReason),
    steps.map(({ by }) => by.cause),
    steps.map(({ by }) => by.actor ?? null),
    steps.map(({ reason }) => reason),
    steps.map(({ evidence }) => (evidence === null ? null : storableJson(evidence))),
    steps.map(({ by }) => by.traceparent ?? null),
    steps.map(({ event }) => event.id),
    steps.map(({ event }) => event.routingKey),
    steps.map(({ event }) => storableJson(event.body)),
  ];
}

function transitionSql(schema: string, effect: StockEffect | 'none', writesEvents: boolean): string {
  // The money rule, checked by the statement that closes: no attempt may be able to take money, or have money that is
  // not being refunded.
  const moneyRule = `AND NOT EXISTS (
            SELECT 1 FROM ${schema}.payment_attempt a
             WHERE a.order_id = o.id AND a.status NOT IN ('CLOSED', 'REFUNDING', 'REFUNDED', 'DUPLICATE', 'SETTLED'))`;
  const stamp = { none: '', release: 'closed_at = now(),', commit: 'paid_at = now(),' }[effect];
  // Partial payments wait for the rest or for a person, and now the rest has arrived. What is not needed, such as money in
  // another currency, is surplus and told as that. What was settled is no part of the price: its row tells that it is at
  // the provider all the same. By the given ids, to help the planner.
  const completed = `,
    completed AS (
      UPDATE ${schema}.unmatched_payment p SET handling = 'completed'
       WHERE p.order_id = ANY($1::text[])
         AND (p.handling = 'waiting' OR (p.handling = 'kept' AND p.reason IN (${reasonsSql(PART_REASONS)})))
         AND EXISTS (SELECT 1 FROM moved WHERE moved.id = p.order_id)
         AND NOT EXISTS (
           SELECT 1 FROM ${schema}.payment_attempt a
            WHERE a.provider = p.provider AND a.reference = p.reference AND a.merchant_account = p.merchant_account
              AND a.status = 'SETTLED'))`;
  // `= ANY` in addition to the join: with the join alone, the planner scans all orders, 6 ms per batch at 40,000 rows.
  return `
    WITH step AS (
      SELECT * FROM unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                           $9::text[], $10::text[], $11::uuid[], $12::text[], $13::text[])
        AS s(order_id, old_version, from_status, to_status, closing, cause, actor, reason, evidence, traceparent,
             event_id, event_type, body)),
    moved AS (
      UPDATE ${schema}.orders o
         SET status = s.to_status, version = o.version + 1, closing_reason = s.closing, ${stamp} updated_at = now()
        FROM step s
       WHERE o.id = ANY($1::text[]) AND o.id = s.order_id AND o.version = s.old_version AND o.status = s.from_status
             ${effect === 'release' ? moneyRule : ''}
      RETURNING o.id, o.version, s.*),
    history AS (
      INSERT INTO ${schema}.order_history
             (order_id, version, from_status, to_status, cause, actor, reason, evidence, traceparent)
      SELECT id, version, from_status, to_status, cause, actor, reason, evidence::jsonb, traceparent FROM moved),
    event AS (
      ${insertEvents(schema, { from: 'moved', id: 'event_id', type: 'event_type' }, writesEvents)})${effect === 'commit' ? completed : ''}
    SELECT id FROM moved`;
}
