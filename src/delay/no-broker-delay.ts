import { type DelayRoute, type DelayTransport } from './delay-transport';
import { NoBrokerWaitError } from './no-broker-wait-error';

/**
 * Nothing waits on the broker: timeouts wait in PostgreSQL and the sweep is the clock. Declares nothing, so that
 * it works without any broker. There is no sensible route: "at once" would have an early delivery published
 * again and again until its due time, so asking for one is a bug of the caller and throws.
 */
export class NoBrokerDelay implements DelayTransport {
  readonly name = 'none';
  readonly address = 'none';
  readonly maxDelayMs = 0;
  readonly maxEarlyMs = 0;

  async declare(): Promise<void> {}

  async bindKind(): Promise<void> {}

  /** @throws NoBrokerWaitError always. */
  route(kind: string): DelayRoute {
    throw new NoBrokerWaitError(kind);
  }
}
