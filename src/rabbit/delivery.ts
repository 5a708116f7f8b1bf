import { type ConsumeMessage } from 'amqplib';
import { settle, type Settlement, type SettlingChannel } from './settlement';

/** One message with the channel it came by. Settled exactly once; later calls do nothing. */
export class Delivery {
  private settled = false;

  constructor(
    readonly message: ConsumeMessage,
    private readonly channel: SettlingChannel,
    private readonly onSettled: (delivery: Delivery) => void,
  ) {}

  get body(): Buffer {
    return this.message.content;
  }

  get headers(): Record<string, unknown> {
    return this.message.properties.headers ?? {};
  }

  /** Somebody has settled it already, e.g. the shutdown, which gives back what is in hand. */
  get isSettled(): boolean {
    return this.settled;
  }

  settle(settlement: Settlement): void {
    if (this.settled) return;
    this.settled = true;
    settle(this.channel, this.message, settlement);
    this.onSettled(this);
  }
}
