import { type ConsumeMessage } from 'amqplib';
import { settle, type Settlement, type SettlingChannel } from './settlement';

/** One message with the channel that delivered it. Settled exactly once; later calls do nothing. */
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

  /** A previous consumer did not acknowledge it. */
  get isRedelivered(): boolean {
    return this.message.fields.redelivered;
  }

  /** How often it was delivered before. Undefined at the first delivery and on classic queues, which do not count. */
  get deliveries(): number | undefined {
    // RabbitMQ 4.3 counts returned messages in `x-acquired-count` only.
    const counts = [this.headers['x-delivery-count'], this.headers['x-acquired-count']];
    return counts.filter((count) => typeof count === 'number').sort((a, b) => b - a)[0];
  }

  /** True if it has been settled, for example by the shutdown, or if its channel has closed. */
  get isSettled(): boolean {
    return this.settled;
  }

  /**
   * Call this once its channel has closed: the broker delivers the message again and takes no more answers for this
   * delivery.
   */
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
