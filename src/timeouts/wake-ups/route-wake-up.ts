import { type DelayTransport } from '../../delay';
import { type ClaimedRow, keyOfWakeUp, messageOf } from '../../outbox';
import { type Publication } from '../../rabbit';
import { type Partitions } from './partitions';

/**
 * Wake-ups are to arrive so much before they are due; the consumer holds them. What the broker needs for its hops, and we
 * for the hundreds that a delay queue hands out at once, is no lateness then (500 orders/s by the ladder: p99 76 ms without).
 */
export const HEAD_START_MS = 200;

/** The message of one wake-up that is due in `remainingMs` milliseconds. */
export function routeWakeUp(
  transport: DelayTransport,
  partitions: Partitions,
  row: ClaimedRow,
  remainingMs: number,
): Publication {
  const partition = partitions.for(row.routing_key, keyOfWakeUp(row.body));
  const route = transport.route(partition, remainingMs - HEAD_START_MS);
  const message = messageOf(row);
  return { ...message, ...route, headers: { ...route.headers, ...message.headers } };
}
