import { type QueueType } from './rabbit-options';
import { type TopologyNames } from './topology-names';

/**
 * Explicit, because the default is none up to 3.13 and 20 from 4.0 on. High, because giving back what we hold
 * while the database is away counts as a delivery up to 4.2.
 */
const DELIVERY_LIMIT = 100;

/** Arguments of a queue that is worked on: what cannot be processed is dead-lettered to the parked queue. */
export function workQueueArguments(queueType: QueueType, names: TopologyNames): Record<string, unknown> {
  const deadLetter = { 'x-dead-letter-exchange': names.parked };
  if (queueType === 'classic') return { 'x-queue-type': 'classic', ...deadLetter };
  return {
    'x-queue-type': 'quorum',
    'x-delivery-limit': DELIVERY_LIMIT,
    // Both are needed, or dead-lettering falls back silently to at-most-once.
    'x-dead-letter-strategy': 'at-least-once',
    'x-overflow': 'reject-publish',
    ...deadLetter,
  };
}
