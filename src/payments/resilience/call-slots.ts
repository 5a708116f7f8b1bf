import { bulkhead, type BulkheadPolicy } from 'cockatiel';
import { type Clock } from '../../clock';

/** A slot, to be released exactly once, or why there is none. */
type SlotResult =
  { readonly type: 'entered'; readonly release: () => void } | { readonly type: 'full' | 'expired' | 'aborted' };

/**
 * Limits how many calls are in flight. Wraps cockatiel's bulkhead, in which a queued call ignores its signal until its
 * turn comes, and an aborted call ends without starting the next one, which stalls the queue.
 */
export class CallSlots {
  private readonly bulkhead: BulkheadPolicy;

  constructor(
    private readonly clock: Clock,
    concurrency: number,
    queueLimit: number,
  ) {
    this.bulkhead = bulkhead(concurrency, queueLimit);
  }

  /** Waits for a slot, at most `maxWaitMs`. */
  async acquire(maxWaitMs: number, signal: AbortSignal): Promise<SlotResult> {
    const entered = this.enter();
    try {
      const result = await withDeadline(this.clock, maxWaitMs, signal, () => entered);
      if (result.type === 'value') return { type: 'entered', release: result.value };
      // Abandoned while queued. The slot is granted later all the same, so it is released at once.
      entered.then(
        (release) => release(),
        () => undefined,
      );
      return result;
    } catch {
      return { type: 'full' };
    }
  }

  /** Resolves to the function that releases the slot, as soon as one is free. Rejects if the queue is full. */
  private enter(): Promise<() => void> {
    return new Promise((grant, refuse) => {
      this.bulkhead.execute(() => new Promise<void>((release) => grant(release))).catch(refuse);
    });
  }
}

/** `value`: the work is done. `expired`: the time is up. `aborted`: the caller gave up. */
type DeadlineResult<T> =
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
