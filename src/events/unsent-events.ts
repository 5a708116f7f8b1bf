/**
 * SQL: the order ids of events that are not on the broker yet. Events are due at once, and a lease or a retry moves them by
 * seconds, so the index is read up to there only: wake-ups of far deadlines wait in the same table.
 */
export function unsentEvents(schema: string): string {
  return `SELECT event.body->>'orderId' FROM ${schema}.outbox event
           WHERE event.route = 'event' AND event.available_at < now() + interval '1 hour' AND event.body->>'orderId' IS NOT NULL`;
}
