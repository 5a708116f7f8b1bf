import { type Clock } from './clock';
import { withTimeout } from './with-timeout';

/**
 * Resolves to the result of `work`. Work that takes longer continues, and its result is ignored.
 *
 * @throws the error that `late` creates, after `ms` milliseconds or when `signal` aborts. An earlier error of `work` is
 *   thrown as it is.
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
