import { type QueueType } from './rabbit-options';
import { type TopologyNames } from './topology-names';

/**
 * Explicit, because the default is none up to 3.13 and 20 from 4.0 on. It is for messages that kill their consumer; an
 * outage costs one delivery only (see KeptDeliveries).
 */
const DELIVERY_LIMIT = 100;
/**
 * Never reached. Not -1, which means "no limit" from 4.0 on, but on 3.10 deletes the message that is put back for the
 * first time.
 */
export const NO_DELIVERY_LIMIT = 1_000_000_000;

/** Arguments of the parked queue. It keeps its messages, however often an operator gets and requeues them. */
export function parkedQueueArguments(queueType: QueueType): Record<string, unknown> {
  const limit = queueType === 'quorum' ? { 'x-delivery-limit': NO_DELIVERY_LIMIT } : {};
  return { 'x-queue-type': queueType, ...limit };
}

/** Arguments of a work queue. Messages that cannot be processed are dead-lettered to the parked queue. */
export function workQueueArguments(queueType: QueueType, names: TopologyNames): Record<string, unknown> {
  const deadLetter = { 'x-dead-letter-exchange': names.parked };
  if (queueType === 'classic') return { 'x-queue-type': 'classic', ...deadLetter };
  return {
    'x-queue-type': 'quorum',
    'x-delivery-limit': DELIVERY_LIMIT,
    // Both are required, or dead-lettering silently falls back to at-most-once.
    'x-dead-letter-strategy': 'at-least-once',
    'x-overflow': 'reject-publish',
    ...deadLetter,
  };
}
