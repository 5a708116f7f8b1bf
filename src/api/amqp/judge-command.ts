import { type ParkReason, type Verdict } from '../../rabbit';
import { isContention, isDatabaseUnavailable } from '../../database';
import { RequestRejectedError } from '../input';
import { CommandRejectedError } from './command-rejected-error';

/** How often a message was delivered before. Quorum queues count deliveries. Classic queues only mark a redelivery. */
export interface DeliveryHistory {
  /** Absent on classic queues and on the first delivery. */
  readonly deliveries: number | undefined;
  readonly redelivered: boolean;
}

/** An error in our code may end with the next deployment, or never. After five deliveries a person must look. */
const MAX_DELIVERIES = 5;

/** Pure: whether a failed command is tried again, delivered again, or parked. */
export function judgeCommand(error: unknown, { deliveries, redelivered }: DeliveryHistory): Verdict {
  if (error instanceof CommandRejectedError) return { type: 'park', park: error.park };
  if (error instanceof RequestRejectedError) {
    return park({ code: error.rejection, reason: error.reason, details: error.details });
  }
  if (isDatabaseUnavailable(error) || isContention(error)) return { type: 'again' };
  const isWornOut = deliveries === undefined ? redelivered : deliveries >= MAX_DELIVERIES;
  return isWornOut ? park({ code: 'HANDLER_FAILED', reason: describe(error), isFault: true }) : { type: 'redeliver' };
}

function park(reason: ParkReason): Verdict {
  return { type: 'park', park: reason };
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
