import { setMaxListeners } from 'node:events';
import { type Clock } from './clock';

/**
 * Resolves to the result of `work`, or to `otherwise` after `ms` milliseconds or when `signal` aborts. Leaves no timer
 * behind.
 */
export async function withTimeout<T>(
  clock: Clock,
  ms: number,
  work: Promise<T>,
  otherwise: T,
  signal?: AbortSignal,
): Promise<T> {
  const inTime = new AbortController();
  const abort = (): void => inTime.abort();
  // Many waits share one stop signal. Node reports more than ten listeners as a leak.
  if (signal) setMaxListeners(Infinity, signal);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, clock.sleep(ms, inTime.signal).then(() => otherwise)]);
  } finally {
    inTime.abort();
    signal?.removeEventListener('abort', abort);
  }
}
