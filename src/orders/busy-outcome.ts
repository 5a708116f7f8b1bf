import { contentionBackoffMs } from '../database';
import { type DueTimeout, type TimeoutOutcome } from '../timeouts';

/**
 * Another transaction holds what the timeout needs. Ours are short, because none waits for anything remote. Others may be
 * long, so the pause grows: a row that is held for a minute is not asked for 300 times.
 */
export function busyOutcome({ dueAt }: Pick<DueTimeout, 'dueAt'>, now: Date, what = 'the order row'): TimeoutOutcome {
  const afterMs = contentionBackoffMs(now.getTime() - dueAt.getTime(), Math.random());
  return { type: 'retry', counted: false, afterMs, reason: `${what} is locked` };
}
