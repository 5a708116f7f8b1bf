import { type ConsumeMessage, type Channel } from 'amqplib';
import { Logger } from '@nestjs/common';

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

/**
 * How a delivery ends.
 * - `ack`: its work is committed, or there is none.
 * - `requeue`: it could not be stored; another consumer or a later try may succeed.
 * - `dead-letter`: it can never be processed and goes to the parked queue.
 */
type Acknowledgment = 'ack' | 'requeue' | 'dead-letter';

const logger = new Logger('Acknowledgments');

/** The part of a channel that acknowledges. */
type AcknowledgingChannel = Pick<GatheredAcks, 'ack' | 'nack'>;

/**
 * The only code that acknowledges or rejects. Takes the channel that delivered the message, because a tag means nothing
 * on another one. A closed channel is only a warning: the broker redelivers, and the use cases are idempotent.
 */
export function acknowledge(
  channel: AcknowledgingChannel,
  message: ConsumeMessage,
  acknowledgment: Acknowledgment,
): void {
  try {
    if (acknowledgment === 'ack') channel.ack(message);
    else channel.nack(message, false, acknowledgment === 'requeue');
  } catch (error) {
    logger.warn(`${acknowledgment} after the channel closed; the broker will redeliver: ${String(error)}`);
  }
}

/**
 * Acknowledges the deliveries of one channel with as few frames as possible. Acks of one turn are sent at its end; a
 * single `multiple` covers everything up to the lowest unacknowledged delivery. A quorum queue writes each ack to its log,
 * and a batch has 100 of them.
 */
export class GatheredAcks {
  /** In the order of delivery, which is the order of the tags. */
  private readonly unacknowledged = new Set<number>();
  private gathered: ConsumeMessage[] = [];

  constructor(private readonly channel: Channel) {}

  /** Must be called for every delivery of the channel, or a `multiple` would acknowledge it by accident. */
  delivered({ fields }: ConsumeMessage): void {
    this.unacknowledged.add(fields.deliveryTag);
  }

  ack(message: ConsumeMessage): void {
    this.unacknowledged.delete(message.fields.deliveryTag);
    if (this.gathered.push(message) === 1) queueMicrotask(() => this.flush());
  }

  /** @throws IllegalOperationError if the channel has closed. */
  nack(message: ConsumeMessage, allUpTo: false, requeue: boolean): void {
    this.unacknowledged.delete(message.fields.deliveryTag);
    this.channel.nack(message, allUpTo, requeue);
  }

  /** Sends the gathered acks. */
  flush(): void {
    const messages = this.gathered;
    this.gathered = [];
    const [lowest = Infinity] = this.unacknowledged;
    const together = messages.filter(({ fields }) => fields.deliveryTag < lowest);
    try {
      const last = together.reduce<ConsumeMessage | undefined>(later, undefined);
      if (last) this.channel.ack(last, together.length > 1);
      for (const message of messages) if (message.fields.deliveryTag > lowest) this.channel.ack(message);
    } catch (error) {
      logger.warn(`ack after the channel closed; the broker will redeliver ${messages.length}: ${String(error)}`);
    }
  }
}

function later(one: ConsumeMessage | undefined, other: ConsumeMessage): ConsumeMessage {
  return one && one.fields.deliveryTag > other.fields.deliveryTag ? one : other;
}

/** Why a message is parked: a stable code, and a sentence with the values. */
export interface ParkReason {
  readonly code: string;
  readonly reason: string;
  /** The values for programs. They are sent to the sender of the command, if it wants an answer. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** A mistake on our side. The sender is not told the reason, and the message is parked even if the sender is answered. */
  readonly isFault?: boolean;
}
