import { type Channel } from '../rabbit';

/** Where a wake-up waits: in the plugin's exchange, in a ladder of TTL queues, or not on the broker. */
export type DelayTransportName = 'delayed-exchange' | 'ladder' | 'none';

/** Where to publish a wake-up so that it reaches the work queue of its kind after approximately the given delay. */
export interface DelayRoute {
  readonly exchange: string;
  readonly routingKey: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly mandatory: boolean;
}

/**
 * One way to let the broker wait. A transport may deliver early: the ladder rounds down to its unit, and delays above
 * `maxDelayMs` are cut to it. The consumer waits for the rest or publishes the wake-up with a new delay. A transport
 * must not deliver late on purpose, because the consumer can wait but cannot catch up.
 */
export interface DelayTransport {
  readonly name: DelayTransportName;
  /** Where its wake-ups wait. This transport cannot deliver messages that wait at another address. */
  readonly address: string;
  /** The longest delay of one publication. Longer delays are cut to it and published again on arrival. */
  readonly maxDelayMs: number;
  /** How early a delivery may come, milliseconds: what the consumer has to wait for in addition to its head start. */
  readonly maxEarlyMs: number;
  /**
   * Declares the exchanges and queues of the transport, from the delivery end upward. Idempotent. Needs the work and
   * parked exchanges.
   */
  declare(channel: Channel): Promise<void>;
  /**
   * Lets wake-ups of `kind` reach `workQueue` after their delay. Idempotent. Call it after `declare`. The queue must
   * exist and be bound to the work exchange with `kind` as the key, because wake-ups that are due already go that way.
   */
  bindKind(channel: Channel, kind: string, workQueue: string): Promise<void>;
  /**
   * @param delayMs milliseconds until due; zero or less means straight to the work queue.
   * @throws InvalidDelayError if it is not a finite number.
   */
  route(kind: string, delayMs: number): DelayRoute;
}
