/** A JSON object, as it goes over the wire. */
export type JsonObject = { readonly [key: string]: unknown };

/** Which road a row takes: a wake-up waits in the delay transport, an event goes straight to the events exchange. */
export type OutboxRoute = 'wake-up' | 'event';

/** One message to be published after the transaction that appended it has committed. */
export interface OutboxEntry {
  /** UUID v7, the message id forever: a re-published row keeps it. */
  readonly id: string;
  readonly route: OutboxRoute;
  /** Timeout kind for a wake-up, event name for an event. */
  readonly routingKey: string;
  readonly body: JsonObject;
  /** W3C traceparent of the work that caused it. */
  readonly traceparent?: string | undefined;
  /** Epoch milliseconds at which a wake-up is due; absent: at once. */
  readonly deliverAtMs?: number | undefined;
}
