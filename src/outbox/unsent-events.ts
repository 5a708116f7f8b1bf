/** SQL: the order ids of events that are not on the broker yet, parked ones included. By the index of events alone. */
export function unsentEvents(schema: string): string {
  return `SELECT event.body->>'orderId' FROM ${schema}.outbox event
           WHERE event.route = 'event' AND event.body->>'orderId' IS NOT NULL`;
}
