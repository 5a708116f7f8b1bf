import { Logger } from '@nestjs/common';
import { type Channel, type ConsumeMessage } from 'amqplib';

const logger = new Logger('Settlement');

/**
 * Acknowledges what one channel has delivered, as few frames as possible: what is acknowledged in one turn goes out at
 * its end, everything up to the lowest unsettled delivery by one `multiple`. A quorum queue writes each ack into its
 * log, and a batch is 100 of them.
 */
export class GatheredAcks {
  /** In the order of delivery, which is that of the tags. */
  private readonly unsettled = new Set<number>();
  private gathered: ConsumeMessage[] = [];

  constructor(private readonly channel: Channel) {}

  /** Has to be told of every delivery of the channel, or a `multiple` would settle it by the way. */
  delivered({ fields }: ConsumeMessage): void {
    this.unsettled.add(fields.deliveryTag);
  }

  ack(message: ConsumeMessage): void {
    this.unsettled.delete(message.fields.deliveryTag);
    if (this.gathered.push(message) === 1) queueMicrotask(() => this.flush());
  }

  /** @throws IllegalOperationError when the channel has closed. */
  nack(message: ConsumeMessage, allUpTo: false, requeue: boolean): void {
    this.unsettled.delete(message.fields.deliveryTag);
    this.channel.nack(message, allUpTo, requeue);
  }

  /** Sends what has been gathered. */
  flush(): void {
    const messages = this.gathered;
    this.gathered = [];
    const [lowest = Infinity] = this.unsettled;
    const together = messages.filter(({ fields }) => fields.deliveryTag < lowest);
    try {
      const last = together.reduce<ConsumeMessage | undefined>(later, undefined);
      if (last) this.channel.ack(last, together.length > 1);
      for (const message of messages) if (message.fields.deliveryTag > lowest) this.channel.ack(message);
    } catch (error) {
      logger.warn(`ack came after the channel closed; the broker will redeliver ${messages.length}: ${String(error)}`);
    }
  }
}

function later(one: ConsumeMessage | undefined, other: ConsumeMessage): ConsumeMessage {
  return one && one.fields.deliveryTag > other.fields.deliveryTag ? one : other;
}
