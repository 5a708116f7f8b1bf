import { type ParkReason, type Verdict } from '../../rabbit';
import { isContention, isDatabaseUnavailable } from '../../database';
import { RequestRejectedError } from '../input';
import { CommandRejectedError } from './command-rejected-error';

/** How often a message was delivered before. Quorum queues count; classic ones only say that it was. */
export interface DeliveryHistory {
  /** Absent on classic queues, and on the first delivery. */
  readonly deliveries: number | undefined;
  readonly redelivered: boolean;
}

/** A fault of ours may pass with the next deployment or never; after five tries a person has to look. */
const MAX_DELIVERIES = 5;

/** Pure: whether a command that failed can ever succeed as it is. */
export function judgeCommand(error: unknown, { deliveries, redelivered }: DeliveryHistory): Verdict {
  if (error instanceof CommandRejectedError) return { type: 'park', park: error.park };
  if (error instanceof RequestRejectedError) return park({ code: error.rejection, reason: error.reason });
  if (isDatabaseUnavailable(error) || isContention(error)) return { type: 'again' };
  const isWornOut = deliveries === undefined ? redelivered : deliveries >= MAX_DELIVERIES;
  return isWornOut ? park({ code: 'HANDLER_FAILED', reason: describe(error) }) : { type: 'redeliver' };
}

function park(reason: ParkReason): Verdict {
  return { type: 'park', park: reason };
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
