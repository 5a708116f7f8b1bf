import { type Clock } from '../../clock';

/** `value`: the work is done. `expired`: the time is up. `aborted`: the caller gave up. */
export type DeadlineResult<T> =
  { readonly type: 'value'; readonly value: T } | { readonly type: 'expired' } | { readonly type: 'aborted' };

/**
 * Runs `work` with a signal that aborts after `ms` milliseconds or when `signal` does. Resolves at that moment even if
 * the work ignores its signal. Rejects only if the work rejects before that.
 *
 * Does not use AbortSignal.any: on Node 20 its results stay referenced by a long-lived source (nodejs/node#54614).
 */
export function withDeadline<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<DeadlineResult<T>> {
  if (signal.aborted) return Promise.resolve({ type: 'aborted' });
  return new Promise((resolve, reject) => {
    const inner = new AbortController();
    const stop = (type: 'expired' | 'aborted'): void => {
      release();
      resolve({ type });
      inner.abort();
    };
    const onAbort = (): void => stop('aborted');
    const timer = clock.after(ms, () => stop('expired'));
    const release = (): void => {
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const run = async (): Promise<T> => work(inner.signal);
    run()
      .finally(release)
      .then((value) => resolve({ type: 'value', value }), reject);
  });
}
