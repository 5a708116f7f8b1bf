import { type DataSource } from 'typeorm';
import { ownQuery } from '../database';

/** How many events are not on the broker yet, parked ones included. By the index of events alone. */
export async function countUnsentEvents(dataSource: DataSource, schema: string): Promise<number> {
  const sql = `SELECT count(*)::int AS count FROM ${schema}.outbox WHERE route = 'event'`;
  const [row] = await ownQuery<{ count: number }[]>(dataSource, sql);
  return row?.count ?? 0;
}

/** SQL: the order ids of events that are not on the broker yet, parked ones included. By the index of events alone. */
export function unsentEvents(schema: string): string {
  return `SELECT event.body->>'orderId' FROM ${schema}.outbox event
           WHERE event.route = 'event' AND event.body->>'orderId' IS NOT NULL`;
}
