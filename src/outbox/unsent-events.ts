import { type DataSource } from 'typeorm';
import { ownQuery } from '../database';

/** How many events are not on the broker yet, parked ones included. By the index of events alone. */
export async function countUnsentEvents(dataSource: DataSource, schema: string): Promise<number> {
  const sql = `SELECT count(*)::int AS count FROM ${schema}.outbox WHERE route = 'event'`;
  const [row] = await ownQuery<{ count: number }[]>(dataSource, sql);
  return row?.count ?? 0;
}

/** An event of an order that is not on the broker yet. */
export interface UnsentEvent {
  /** Such as `order.closed`. */
  readonly type: string;
  readonly createdAt: Date;
  /** Null: it waits for the relay. */
  readonly parkedReason: string | null;
}

/** How many events are searched for those of one order. More of them wait only while there is no broker. */
const SEARCHED = 10_000;

/** The events of an order among the next that the relay takes, and among those that are parked. */
export function unsentEventsOf(dataSource: DataSource, schema: string, orderId: string): Promise<UnsentEvent[]> {
  const some = (condition: string, order: string): string =>
    `(SELECT * FROM ${schema}.outbox WHERE route = 'event' AND ${condition} ORDER BY ${order} LIMIT ${SEARCHED})`;
  return ownQuery<UnsentEvent[]>(
    dataSource,
    `SELECT routing_key AS type, created_at AS "createdAt", parked_reason AS "parkedReason"
       FROM (${some('parked_reason IS NULL', 'available_at, id')} UNION ALL ${some('parked_reason IS NOT NULL', 'id')}) event
      WHERE body->>'orderId' = $1 ORDER BY created_at, id`,
    [orderId],
  );
}

/** SQL: the order ids of events that are not on the broker yet, parked ones included. By the index of events alone. */
export function unsentEvents(schema: string): string {
  return `SELECT event.body->>'orderId' FROM ${schema}.outbox event
           WHERE event.route = 'event' AND event.body->>'orderId' IS NOT NULL`;
}
