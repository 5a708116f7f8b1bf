import { Logger } from '@nestjs/common';
import { type ConsumeMessage } from 'amqplib';
import { type GatheredAcks } from './gathered-acks';

/**
 * How a delivery ends.
 * - `ack`: its work is committed, or there is none.
 * - `requeue`: it could not even be written down; somebody else or a later time.
 * - `dead-letter`: it can never be processed; goes to the parked queue.
 */
export type Settlement = 'ack' | 'requeue' | 'dead-letter';

const logger = new Logger('Settlement');

/** What settles on the channel that delivered. */
export type SettlingChannel = Pick<GatheredAcks, 'ack' | 'nack'>;

/**
 * The only place that acknowledges or rejects. Takes the very channel that delivered: a tag means nothing on
 * another one. A closed channel is a warning, as the broker redelivers and the use cases are idempotent.
 */
export function settle(channel: SettlingChannel, message: ConsumeMessage, settlement: Settlement): void {
  try {
    if (settlement === 'ack') channel.ack(message);
    else channel.nack(message, false, settlement === 'requeue');
  } catch (error) {
    logger.warn(`${settlement} came after the channel closed; the broker will redeliver: ${String(error)}`);
  }
}
