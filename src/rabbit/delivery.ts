import { type ConsumeMessage } from 'amqplib';
import { acknowledge, type Acknowledgment, type AcknowledgingChannel } from './acknowledge';

/** One message with the channel that delivered it. Acknowledged exactly once; later calls do nothing. */
export class Delivery {
  private acknowledged = false;
  private failed = 0;

  constructor(
    readonly message: ConsumeMessage,
    private readonly channel: AcknowledgingChannel,
    private readonly onAcknowledged: (delivery: Delivery) => void,
    /** By the monotonic clock, milliseconds. */
    readonly receivedAt: number,
  ) {}

  get body(): Buffer {
    return this.message.content;
  }

  get headers(): Record<string, unknown> {
    return this.message.properties.headers ?? {};
  }

  /** The queue where the sender wants the answer. Undefined: it wants none. */
  get replyTo(): string | undefined {
    return textOf(this.message.properties.replyTo);
  }

  /** What the sender recognizes the answer by. */
  get correlationId(): string | undefined {
    return textOf(this.message.properties.correlationId);
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

  /**
   * @internal How often its handler has failed: the broker's count, or where it keeps none, ours since it arrived. That it was
   * returned before counts as once.
   */
  get failures(): number {
    return this.deliveries ?? this.failed + (this.isRedelivered ? 1 : 0);
  }

  /** @internal Was returned before, and nobody has counted: a classic queue only marks that. */
  get isUncounted(): boolean {
    return this.isRedelivered && this.deliveries === undefined;
  }

  /** @internal Its handler has failed, and it is tried again without being returned. */
  countFailure(): void {
    this.failed += 1;
  }

  /** True if it has been acknowledged, for example by the shutdown, or if its channel has closed. */
  get isAcknowledged(): boolean {
    return this.acknowledged;
  }

  /**
   * Call this once its channel has closed: the broker delivers the message again and takes no more answers for this
   * delivery.
   */
  forget(): void {
    this.acknowledged = true;
  }

  acknowledge(acknowledgment: Acknowledgment): void {
    if (this.acknowledged) return;
    this.acknowledged = true;
    acknowledge(this.channel, this.message, acknowledgment);
    this.onAcknowledged(this);
  }
}

/** Some clients send an empty text for a property that they do not set. */
function textOf(property: unknown): string | undefined {
  return typeof property === 'string' && property !== '' ? property : undefined;
}
