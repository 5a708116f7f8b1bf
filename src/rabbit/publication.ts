/** One message on its way to the broker. Always persistent, always confirmed. */
export interface Publication {
  readonly exchange: string;
  readonly routingKey: string;
  readonly body: Buffer;
  /** Stable over re-publishing: the outbox id. Consumers deduplicate by it. */
  readonly messageId: string;
  /** AMQP `type` property: what the message is, e.g. `order.closed`. */
  readonly type: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  /** Ask the broker to return the message when no queue is bound. Not for the delayed exchange, which returns and delivers. */
  readonly mandatory?: boolean;
}

/**
 * What is known about a publication afterwards.
 * `unknown`: the channel closed before the answer; it may or may not be in the queue, so publish it again.
 * `unencodable`: it is no AMQP message, e.g. its headers are too large; nothing was sent, and never can be.
 */
export type PublishOutcome = 'confirmed' | 'nacked' | 'returned' | 'unknown' | 'unencodable';
