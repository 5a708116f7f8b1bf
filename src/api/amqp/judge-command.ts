import { type ParkReason, type Verdict } from '../../rabbit';
import { isContention, isDatabaseUnavailable } from '../../database';
import { RequestRejectedError } from '../input';
import { CommandRejectedError } from './command-rejected-error';

/** An error in our code may end with the next deployment, or never. After the sixth try a person must look. */
const MAX_FAILURES = 5;

/** Pure: whether a failed command is tried again, delivered again, or parked. @param failures how often it has failed before */
export function judgeCommand(error: unknown, failures: number): Verdict {
  if (error instanceof CommandRejectedError) return { type: 'park', park: error.park };
  if (error instanceof RequestRejectedError) {
    return park({ code: error.rejection, reason: error.reason, details: error.details });
  }
  if (isDatabaseUnavailable(error) || isContention(error)) return { type: 'again' };
  return failures >= MAX_FAILURES
    ? park({ code: 'HANDLER_FAILED', reason: describe(error), isFault: true })
    : { type: 'redeliver' };
}

function park(reason: ParkReason): Verdict {
  return { type: 'park', park: reason };
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
