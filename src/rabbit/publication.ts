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
 * `unknown`: not sent, or the channel closed before the answer; it may or may not be in the queue, so publish it again.
 * `unencodable`: it is no AMQP message, e.g. its headers are too large; nothing was sent, and never can be.
 * `too-large`: its body is above the broker's `max_message_size`.
 * `late`: not confirmed within 500 ms; the `PublishWatch` of the call is told what becomes of it.
 */
export type PublishOutcome = 'confirmed' | 'nacked' | 'returned' | 'unknown' | 'unencodable' | 'too-large' | 'late';

/** Is told of single publications of a call, by their index in it. */
export interface PublishWatch {
  /** Why one is `unencodable` or `too-large`; told before the call resolves. */
  refused(index: number, reason: string): void;
  /** The broker has answered for one that was `late`. */
  answered(index: number, outcome: PublishOutcome): void;
  /** One that was `late` is not confirmed after the whole time limit. The channel is open, so its confirm may still come. */
  timedOut(index: number): void;
}
