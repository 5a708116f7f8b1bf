import { type Channel, type TopologyNames } from '../rabbit';
import { type DelayRoute, type DelayTransport, assertDelay, straightToWork } from './delay-transport';

/** The plugin's limit, 2^32 − 1 ms (49.7 days). It delivers messages with a longer delay immediately. */
const MAX_DELAY_MS = 4_294_967_295;

/**
 * The `x-delayed-message` exchange of rabbitmq-delayed-message-exchange, or of a broker that has it built in. Do not
 * rely on it for safe publishing: a confirm does not mean that a queue is bound, `mandatory` returns the message and
 * also delivers it, an alternate exchange duplicates it, and a kill -9 of the broker loses some messages (measured: 15
 * of 4500). The sweep finds the timeouts of all of these.
 */
export class DelayedExchange implements DelayTransport {
  readonly name = 'delayed-exchange';
  readonly maxDelayMs = MAX_DELAY_MS;
  readonly maxEarlyMs = 0;

  constructor(private readonly names: TopologyNames) {}

  get address(): string {
    return this.names.delayed;
  }

  async declare(channel: Channel): Promise<void> {
    // Never `topic`: on a broker that uses Khepri it routes nothing (plugin issue 323).
    const options = { durable: true, arguments: { 'x-delayed-type': 'direct' } };
    await channel.assertExchange(this.names.delayed, 'x-delayed-message', options);
  }

  async bindKind(channel: Channel, kind: string, workQueue: string): Promise<void> {
    await channel.bindQueue(workQueue, this.names.delayed, kind);
  }

  /** Rounded up to whole milliseconds, because the plugin takes no fractions and a wake-up must not be early. */
  route(kind: string, delayMs: number): DelayRoute {
    assertDelay(delayMs);
    if (delayMs <= 0) return straightToWork(this.names, kind);
    const value = Math.min(Math.ceil(delayMs), MAX_DELAY_MS);
    return {
      exchange: this.names.delayed,
      routingKey: kind,
      // Typed explicitly: amqplib writes 1 to 127 as a byte, which plugin versions since 3.13 do not accept as a delay.
      headers: { 'x-delay': { '!': 'int64', value } },
      mandatory: false,
    };
  }
}
