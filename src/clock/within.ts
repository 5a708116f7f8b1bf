import { type Clock } from './clock';

/** What `work` resolves to, or `otherwise` after `ms` milliseconds. Leaves no timer behind. */
export async function within<T>(clock: Clock, ms: number, work: Promise<T>, otherwise: T): Promise<T> {
  const inTime = new AbortController();
  try {
    return await Promise.race([work, clock.sleep(ms, inTime.signal).then(() => otherwise)]);
  } finally {
    inTime.abort();
  }
}
