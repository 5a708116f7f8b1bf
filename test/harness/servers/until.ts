import { setTimeout as sleep } from 'node:timers/promises';
import { RunError } from '../run-error';

const PAUSE_MS = 100;

/**
 * Asks again and again until there is an answer.
 *
 * @throws RunError saying what was waited for, after `limitMs`; or the reason of the signal.
 */
export async function until<T>(
  what: string,
  limitMs: number,
  signal: AbortSignal | undefined,
  ask: () => Promise<T | undefined>,
): Promise<T> {
  const endsAt = performance.now() + limitMs;
  for (;;) {
    signal?.throwIfAborted();
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > endsAt) throw new RunError(`${what} did not happen within ${limitMs / 1_000} s`);
    await sleep(PAUSE_MS, undefined, { signal });
  }
}
