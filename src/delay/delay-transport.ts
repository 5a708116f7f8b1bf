import { type Channel } from '../rabbit';

/** How a wake-up waits: in the plugin's exchange, in a ladder of TTL queues, or not on the broker at all. */
export type DelayTransportName = 'delayed-exchange' | 'ladder' | 'none';

/** Where to publish a wake-up so that it reaches the work queue of its kind after about the given delay. */
export interface DelayRoute {
  readonly exchange: string;
  readonly routingKey: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly mandatory: boolean;
}

/**
 * One way to make the broker wait. A transport may deliver early (the ladder rounds down to its unit, a delay
 * above `maxDelayMs` is cut to it): the consumer holds or re-delays what is not due. It must never deliver so
 * late on purpose that a hold could not have been shorter.
 */
export interface DelayTransport {
  readonly name: DelayTransportName;
  /** Where its wake-ups wait. Messages that wait at another address never come out of this one. */
  readonly address: string;
  /** The longest delay one publication can wait for; longer ones are cut to it and re-delayed on arrival. */
  readonly maxDelayMs: number;
  /** The most a delivery may come before the delay that was asked for is over: what the consumer has to hold beside its head start. */
  readonly maxEarlyMs: number;
  /** Declares the waiting room, from the delivery end upwards. Idempotent; needs the work and parked exchanges. */
  declare(channel: Channel): Promise<void>;
  /**
   * Lets wake-ups of `kind` reach `workQueue` after their wait. Idempotent; call after `declare`. The queue must
   * exist, and be bound to the work exchange with `kind` as the key: what is due at once goes that way.
   */
  bindKind(channel: Channel, kind: string, workQueue: string): Promise<void>;
  /**
   * @param delayMs what is left until due, milliseconds; zero or less means straight to the work queue.
   * @throws InvalidDelayError when it is not a finite number.
   */
  route(kind: string, delayMs: number): DelayRoute;
}
