/** One message for the broker. Always persistent, always confirmed. */
export interface Publication {
  readonly exchange: string;
  readonly routingKey: string;
  readonly body: Buffer;
  /** The outbox id, which stays the same when the message is published again. Consumers deduplicate by it. */
  readonly messageId: string;
  /** AMQP `type` property: the kind of message, for example `order.closed`. */
  readonly type: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  /** AMQP `correlation-id` property: which request this message answers. */
  readonly correlationId?: string;
  /**
   * Asks the broker to return the message if no queue is bound. Not for the delayed exchange, which returns it and
   * delivers it, too.
   */
  readonly mandatory?: boolean;
}

/**
 * The outcome of a publication.
 * - `unknown`: not sent, or the channel closed before the answer. It may or may not be in the queue, so publish it
 *   again.
 * - `unencodable`: not a valid AMQP message, for example because its headers are too large. Nothing was or can be sent.
 * - `too-large`: its body exceeds the broker's `max_message_size`.
 * - `late`: not confirmed within 500 ms. The `PublishWatch` of the call is told its outcome.
 */
export type PublishOutcome = 'confirmed' | 'nacked' | 'returned' | 'unknown' | 'unencodable' | 'too-large' | 'late';

/** Receives events about single publications of a call, by their index in it. */
export interface PublishWatch {
  /** Why a publication is `unencodable` or `too-large`. Called before the call resolves. */
  refused(index: number, reason: string): void;
  /** The broker has answered for a `late` publication. */
  answered(index: number, outcome: PublishOutcome): void;
  /**
   * A `late` publication was not confirmed within the whole time limit. The channel is open, so its confirm may still
   * come.
   */
  timedOut(index: number): void;
}
