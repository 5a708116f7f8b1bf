import { type ConsumeMessage } from 'amqplib';
import { settle, type Settlement, type SettlingChannel } from './settlement';

/** One message with the channel it came by. Settled exactly once; later calls do nothing. */
export class Delivery {
  private settled = false;

  constructor(
    readonly message: ConsumeMessage,
    private readonly channel: SettlingChannel,
    private readonly onSettled: (delivery: Delivery) => void,
    /** By the monotonic clock, milliseconds. */
    readonly receivedAt: number,
  ) {}

  get body(): Buffer {
    return this.message.content;
  }

  get headers(): Record<string, unknown> {
    return this.message.properties.headers ?? {};
  }

  /** Whoever had it before has not acknowledged it. */
  get isRedelivered(): boolean {
    return this.message.fields.redelivered;
  }

  /** How often it was delivered before: absent on classic queues, which do not count, and at the first time. */
  get deliveries(): number | undefined {
    // 4.3 counts what was given back in `x-acquired-count` only.
    const counts = [this.headers['x-delivery-count'], this.headers['x-acquired-count']];
    return counts.filter((count) => typeof count === 'number').sort((a, b) => b - a)[0];
  }

  /** True when it is settled already, e.g. by the shutdown, or its channel has closed. */
  get isSettled(): boolean {
    return this.settled;
  }

  /** Call it when its channel has closed: the broker delivers it again, and cannot be told about this delivery. */
  forget(): void {
    this.settled = true;
  }

  settle(settlement: Settlement): void {
    if (this.settled) return;
    this.settled = true;
    settle(this.channel, this.message, settlement);
    this.onSettled(this);
  }
}
