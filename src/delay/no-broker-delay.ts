import { type DelayRoute, type DelayTransport, NoBrokerWaitError } from './delay-transport';

/**
 * Nothing waits on the broker: timeouts wait in PostgreSQL, and the sweep finds them. Declares nothing, so it works
 * without a broker. There is no useful route: "immediately" would publish an early delivery again and again until it is
 * due. A request for a route is therefore a bug of the caller, and it throws.
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
