import { type Channel, type TopologyNames } from '../rabbit';
import { type DelayRoute, type DelayTransport } from './delay-transport';
import { assertDelay } from './invalid-delay-error';
import { straightToWork } from './straight-to-work';

/** The plugin's limit, 2^32 − 1 ms (49.7 days); anything above is delivered at once. */
const MAX_DELAY_MS = 4_294_967_295;

/**
 * The `x-delayed-message` exchange of rabbitmq-delayed-message-exchange, or of a broker that has it built in.
 * It takes no part in what makes publishing safe: a confirm does not mean that a queue is bound, `mandatory`
 * returns the message and delivers it as well, an alternate exchange duplicates it, and a kill -9 of the broker
 * loses some (measured: 15 of 4500). The sweep covers all of that.
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
    // Never `topic`: on a broker that runs on Khepri it routes nothing (plugin issue 323).
    const options = { durable: true, arguments: { 'x-delayed-type': 'direct' } };
    await channel.assertExchange(this.names.delayed, 'x-delayed-message', options);
  }

  async bindKind(channel: Channel, kind: string, workQueue: string): Promise<void> {
    await channel.bindQueue(workQueue, this.names.delayed, kind);
  }

  /** Rounded up to whole milliseconds; the plugin knows no fractions and we are never early. */
  route(kind: string, delayMs: number): DelayRoute {
    assertDelay(delayMs);
    if (delayMs <= 0) return straightToWork(this.names, kind);
    const value = Math.min(Math.ceil(delayMs), MAX_DELAY_MS);
    return {
      exchange: this.names.delayed,
      routingKey: kind,
      // Tagged: amqplib writes 1..127 as a byte, which plugins since 3.13 do not take for a delay at all.
      headers: { 'x-delay': { '!': 'int64', value } },
      mandatory: false,
    };
  }
}
