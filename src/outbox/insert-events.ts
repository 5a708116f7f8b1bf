/** What the events of a statement are made of. Every value is SQL. */
interface EventSource {
  /** What follows FROM. Its rows have the columns `body`, the text of the JSON, and `traceparent`. */
  readonly from: string;
  /** UUID of the message. */
  readonly id: string;
  /** Name of the event, for example `order.closed`. */
  readonly type: string;
}

/**
 * SQL that writes an event for each row of `from`. It stands in a WITH clause or by itself.
 *
 * @param hasReader false: there is no broker, so nothing is written.
 */
export function insertEvents(schema: string, { from, id, type }: EventSource, hasReader: boolean): string {
  if (!hasReader) return 'SELECT 1 WHERE false';
  return `
    INSERT INTO ${schema}.outbox (id, route, routing_key, body, traceparent)
    SELECT ${id}, 'event', ${type}, body::jsonb, traceparent
      FROM ${from}`;
}
