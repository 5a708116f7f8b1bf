import { type Channel, type TopologyNames } from '../rabbit';
import { CodedError } from '../errors';

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
  /** Declares its exchanges and queues, from the delivery end up. Idempotent. Needs the work and parked exchanges. */
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

/**
 * The route of a wake-up that is due already. `mandatory` is safe here: this is an ordinary exchange, and the parked
 * exchange takes unroutable messages.
 */
export function straightToWork(names: TopologyNames, kind: string): DelayRoute {
  return { exchange: names.work, routingKey: kind, mandatory: true };
}

/** A delay is not a finite number of milliseconds, because the caller subtracted something that is not a date. */
export class InvalidDelayError extends CodedError {
  constructor(readonly delayMs: number) {
    super(
      'INVALID_DELAY',
      `a delay must be a finite number of milliseconds (got ${String(delayMs)}); check the due date it was computed from`,
    );
  }
}

/** @throws InvalidDelayError for NaN and ±Infinity, which a broker would take for "immediately" or refuse. */
export function assertDelay(delayMs: number): void {
  if (!Number.isFinite(delayMs)) throw new InvalidDelayError(delayMs);
}

/** A route through the broker was requested, although the configuration says that nothing waits there. */
export class NoBrokerWaitError extends CodedError {
  constructor(readonly kind: string) {
    super(
      'NO_BROKER_WAIT',
      `a wake-up of kind "${kind}" cannot be published with the transport "none": it waits in PostgreSQL and the ` +
        'sweep finds it; configure the transport "auto" or "ladder" to let the broker wait',
    );
  }
}

/** The configuration requires the plugin, and the broker says that it does not have it. */
export class DelayedExchangeMissingError extends CodedError {
  constructor() {
    super(
      'DELAYED_EXCHANGE_MISSING',
      'the transport "delayed-exchange" is configured, but the broker does not know the exchange type ' +
        'x-delayed-message; configure the transport "auto" or "ladder" (needs no plugin), or enable ' +
        'rabbitmq_delayed_message_exchange (RabbitMQ 4.2 and older; it cannot run on 4.3)',
    );
  }
}

/** The configuration requires the plugin, and the broker has it, but it does not deliver. */
export class DelayedExchangeUnusableError extends CodedError {
  constructor(reason: string) {
    super(
      'DELAYED_EXCHANGE_UNUSABLE',
      `the transport "delayed-exchange" is configured and the broker has the plugin, but it does not work: ${reason}; ` +
        'disable and enable rabbitmq_delayed_message_exchange on every node, restart the node, or configure the ' +
        'transport "auto" or "ladder" (needs no plugin)',
    );
  }
}
