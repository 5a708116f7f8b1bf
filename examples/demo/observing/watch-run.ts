import { setTimeout as sleep } from 'node:timers/promises';
import { type Records, type Progress } from '../../../test/support/checks/records';
import { TERMINAL } from '../checking/facts';
import { type ProgressView } from './progress-view';

interface Watch {
  readonly total: number;
  readonly records: Records;
  /** How many have been received. */
  readonly events: () => number;
  readonly view: ProgressView;
  readonly placed: () => number;
  readonly note: () => string;
  /** Nobody will do anything any more: all are placed, and the last buyer has tried to pay. */
  readonly isQuiet: () => boolean;
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

const LOOK_EVERY_MS = 400;
/** Confirmed events are with the subscriber in milliseconds; unknown ones would show up in this time. */
const LAST_EVENTS_MS = 500;

/**
 * Shows progress until everything is decided and sent, or the limit is reached: what is not finished by then is for
 * the checks to tell.
 *
 * @returns whether everything was finished in time.
 */
export async function watchRun(watch: Watch): Promise<boolean> {
  const { records, view, signal, limitMs } = watch;
  const endsAt = performance.now() + limitMs;
  try {
    while (performance.now() < endsAt) {
      const progress = await records.progress();
      const done = TERMINAL.reduce((sum, status) => sum + (progress.byStatus[status] ?? 0), 0);
      view.update({ done, placed: watch.placed(), events: watch.events(), note: watch.note() });
      if (watch.isQuiet() && isFinished(progress, done, watch.total)) {
        await sleep(LAST_EVENTS_MS, undefined, { signal });
        return true;
      }
      await sleep(LOOK_EVERY_MS, undefined, { signal });
    }
    return false;
  } finally {
    view.stop();
  }
}

function isFinished({ outboxRows, pendingTimeouts }: Progress, done: number, total: number): boolean {
  return done >= total && outboxRows === 0 && pendingTimeouts === 0;
}
