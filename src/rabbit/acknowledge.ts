import { Logger } from '@nestjs/common';
import { type ConsumeMessage } from 'amqplib';
import { type GatheredAcks } from './gathered-acks';

/**
 * How a delivery ends.
 * - `ack`: its work is committed, or there is none.
 * - `requeue`: it could not be stored; another consumer or a later try may succeed.
 * - `dead-letter`: it can never be processed and goes to the parked queue.
 */
export type Acknowledgment = 'ack' | 'requeue' | 'dead-letter';

const logger = new Logger('Acknowledgments');

/** The part of a channel that acknowledges. */
export type AcknowledgingChannel = Pick<GatheredAcks, 'ack' | 'nack'>;

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
