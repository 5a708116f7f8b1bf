import { bulkhead, type BulkheadPolicy } from 'cockatiel';
import { type Clock } from '../../clock';
import { withDeadline } from './with-deadline';

/** A slot, to be released exactly once, or why there is none. */
export type SlotResult =
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
