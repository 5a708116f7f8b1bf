import { Logger } from '@nestjs/common';
import { type Channel, type ConsumeMessage } from 'amqplib';

const logger = new Logger('Acknowledgments');

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
