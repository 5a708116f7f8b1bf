import { type Clock } from './clock';
import { withTimeout } from './with-timeout';

/**
 * What `work` resolves to. Work that takes longer goes on, and nobody hears how it ends.
 *
 * @throws what `late` makes after `ms` milliseconds, or when `signal` aborts; and what `work` throws before.
 */
export async function inTime<T>(
  clock: Clock,
  ms: number,
  work: Promise<T>,
  late: () => Error,
  signal?: AbortSignal,
): Promise<T> {
  const answer = await withTimeout(
    clock,
    ms,
    work.then((value) => ({ value })),
    undefined,
    signal,
  );
  if (!answer) throw late();
  return answer.value;
}
