import { setTimeout as sleep } from 'node:timers/promises';
import { Patience } from './machine-load';
import { RunError } from './run-error';

const PAUSE_MS = 100;
const SHORT_PAUSE_MS = 20;

/** Polls until `condition` holds; for conditions that nobody signals. A busy machine gets longer. */
export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 15_000): Promise<void> {
  const patience = new Patience(timeoutMs);
  while (!(await condition())) {
    if (patience.leftMs <= 0)
      throw new Error(`condition not reached within ${patience.limitMs} ms: ${condition.toString()}`);
    await sleep(SHORT_PAUSE_MS);
  }
}

/**
 * Asks again and again until there is an answer.
 *
 * @throws RunError saying what was waited for, after `limitMs`, a busy machine later; or the reason of the signal.
 */
export async function answerOf<T>(
  what: string,
  limitMs: number,
  signal: AbortSignal | undefined,
  ask: () => Promise<T | undefined>,
): Promise<T> {
  const patience = new Patience(limitMs);
  for (;;) {
    signal?.throwIfAborted();
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (patience.leftMs <= 0) throw new RunError(`${what} did not happen within ${patience.limitMs / 1_000} s`);
    await sleep(PAUSE_MS, undefined, { signal });
  }
}
