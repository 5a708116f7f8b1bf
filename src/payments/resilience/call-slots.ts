import { bulkhead, type BulkheadPolicy } from 'cockatiel';
import { type Clock } from '../../clock';
import { withDeadline } from './with-deadline';

/** A slot to be released exactly once, or why there is none. */
export type SlotResult =
  { readonly type: 'entered'; readonly release: () => void } | { readonly type: 'full' | 'expired' | 'aborted' };

/**
 * Limits how many calls are in flight. Around cockatiel's bulkhead, which alone would not do: a queued call
 * ignores its signal until its turn, and an aborted one then ends without calling the next, which stalls the queue.
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
      // Given up while queued: the turn still comes, and is passed on at once.
      entered.then(
        (release) => release(),
        () => undefined,
      );
      return result;
    } catch {
      return { type: 'full' };
    }
  }

  /** Resolves, when there is a free slot, to the function that frees it again; rejects when the queue is full. */
  private enter(): Promise<() => void> {
    return new Promise((grant, refuse) => {
      this.bulkhead.execute(() => new Promise<void>((release) => grant(release))).catch(refuse);
    });
  }
}
