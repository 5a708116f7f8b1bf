import { type EntityManager } from 'typeorm';
import { unsentEvents } from '../../outbox';
import { holdsStock } from '../../inventory';
import { payloadsOf, timeoutExists } from '../../timeouts';
import {
  ORDER_LATE_WATCH,
  ORDER_PAYMENT,
  ORDER_REMINDER,
  PAYMENT_RECONCILIATION,
  PAYMENT_REFUND,
} from '../order-timeouts';
import { isSettled } from './settled-money';

/**
 * Why an order cannot be deleted or erased yet.
 * - `timeout`: a timeout is pending or parked.
 * - `refund`: a refund is in progress.
 * - `attempt`: an attempt could take money.
 * - `unmatched-money`: money waits for its deadline or a person.
 * - `reservation`: a reservation holds stock.
 * - `event`: an event is not sent, or a listener or webhook has not got it.
 */
export type OpenItem = 'timeout' | 'refund' | 'attempt' | 'unmatched-money' | 'reservation' | 'event';

/**
 * Finds the open items of orders. Call it after locking the orders, because every transaction that opens an item holds
 * that lock.
 */
export class OpenItems {
  private readonly sql: string;

  /** @param deliveries the kinds of timeouts whose payload is an event of the order. */
  constructor(
    schema: string,
    private readonly deliveries: () => readonly string[],
  ) {
    // Scalar subqueries instead of EXISTS, so that each uses an index regardless of the planner's estimates.
    this.sql = `
      SELECT o.id, array_remove(ARRAY[${openItems(schema).join(', ')}], NULL) AS open
        FROM ${schema}.orders o WHERE o.id = ANY($1::text[])`;
  }

  /** Returns the open items of each order, or an empty list. */
  async execute(tx: EntityManager, ids: readonly string[]): Promise<ReadonlyMap<string, readonly OpenItem[]>> {
    const rows = await tx.query<{ id: string; open: OpenItem[] }[]>(this.sql, [ids, this.deliveries()]);
    return new Map(rows.map(({ id, open }) => [id, open]));
  }
}

function openItems(schema: string): string[] {
  const when = (item: OpenItem, condition: string): string => `CASE WHEN ${condition} THEN '${item}' END`;
  return [
    when('timeout', [...timeoutsOf(schema)].join(' OR ')),
    when('refund', `(SELECT true FROM ${schema}.refund r WHERE r.order_id = o.id AND r.status <> 'REFUNDED' LIMIT 1)`),
    when(
      'attempt',
      `(SELECT true FROM ${schema}.payment_attempt a
         WHERE a.order_id = o.id AND a.status NOT IN ('PAID', 'CLOSED', 'REFUNDED', 'DUPLICATE', 'SETTLED') LIMIT 1)`,
    ),
    when('unmatched-money', unmatchedMoney(schema)),
    when('reservation', holdsStock(schema, 'o.id')),
    when('event', `o.id IN (${unsentEvents(schema)}) OR o.id IN (${payloadsOf(schema, '$2::text[]', 'orderId')})`),
  ];
}

function timeoutsOf(schema: string): string[] {
  return [
    timeoutExists(schema, `'${ORDER_PAYMENT}'`, 'o.id'),
    timeoutExists(schema, `'${ORDER_LATE_WATCH}'`, 'o.id'),
    timeoutExists(schema, `'${PAYMENT_RECONCILIATION}'`, 'o.id'),
    `(SELECT true FROM unnest(o.reminder_offsets_ms) AS ms
       WHERE ${timeoutExists(schema, `'${ORDER_REMINDER}'`, `o.id || ':' || ms`)} LIMIT 1)`,
    `(SELECT true FROM ${schema}.refund r
       WHERE r.order_id = o.id AND ${timeoutExists(schema, `'${PAYMENT_REFUND}'`, 'r.number')} LIMIT 1)`,
  ];
}

/** Unmatched money that names the order or one of its attempts. */
function unmatchedMoney(schema: string): string {
  const money = `${schema}.unmatched_payment p`;
  return `(SELECT true FROM ${money} WHERE p.order_id = o.id AND NOT ${isSettled(schema, 'p')} LIMIT 1)
          OR (SELECT true FROM ${schema}.payment_attempt a, LATERAL (
                SELECT 1 FROM ${money} WHERE p.provider = a.provider AND p.reference = a.reference
                   AND p.merchant_account IN (a.merchant_account, a.resolved_account)
                   AND NOT ${isSettled(schema, 'p')} OFFSET 0) open
               WHERE a.order_id = o.id LIMIT 1)`;
}
