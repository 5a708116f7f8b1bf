import { contentionBackoffMs } from '../database';
import { type DueTimeout, type TimeoutOutcome } from '../timeouts';

/**
 * Another transaction has locked a row that the timeout needs. The service's own transactions are short, because none
 * waits for a remote answer. Others may be long, so the pause grows: a row that is locked for a minute is not tried 300
 * times.
 */
export function busyOutcome({ dueAt }: Pick<DueTimeout, 'dueAt'>, now: Date, what = 'the order row'): TimeoutOutcome {
  const afterMs = contentionBackoffMs(now.getTime() - dueAt.getTime(), Math.random());
  return { type: 'retry', counted: false, afterMs, reason: `${what} is locked` };
}
