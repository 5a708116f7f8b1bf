import { type Clock } from '../../clock';
import { type ScanRange } from '../../database';
import { type OverduePages } from './overdue-pages';
import { type TimeoutCause } from '../timeout';
import { type WorkItem } from '../wake-ups/work-item';

interface BacklogDependencies {
  /** Rows of a full page. */
  readonly pageSize: number;
  readonly queue: {
    /** Wake-ups here whose timeouts are due, and that no run has begun. */
    readonly waiting: number;
    /** More would only wait behind something else, or nothing may begin. */
    readonly isSaturated: boolean;
  };
  readonly pages: Pick<OverduePages, 'settlePage' | 'settleNewest'>;
}

/** If so many batches of due wake-ups wait, they come faster than they are settled. */
const BATCHES_BEHIND = 2;
/** A wake-up of a small batch costs as much as its timeout, so there is nothing to gain. */
const LEAST_PAGE = 20;
/** Received deliveries are not acknowledged meanwhile, and the broker closes the channel after 30 min (`consumer_timeout`). */
const BUDGET_MS = 20_000;

/**
 * Behind a backlog, settles timeouts from the table, longest overdue first. Their wake-ups, received or still on the
 * broker, then find no row. So the broker's part, a third of the work of a burst, comes after the closings. The wake-ups
 * that wait at the end of a pass are settled before the next pass begins.
 *
 * Every second page is of what has only just fallen due: 50,000 orders that are brought due together take a minute, and the
 * others must not wait for it.
 */
export class BacklogDrainer {
  /** Wake-ups that waited when the last pass ended, and must be settled before the next one. */
  private leftByLastPass = 0;

  constructor(
    private readonly deps: BacklogDependencies,
    private readonly clock: Clock,
  ) {}

  /** Settles what is overdue if there is a backlog. Call it before settling these wake-ups. Never rejects. */
  async workOff(items: readonly WorkItem[]): Promise<void> {
    this.leftByLastPass = Math.max(this.leftByLastPass - items.length, 0);
    if (!this.isBehind() || items.some(isForOne)) return;
    const cause = items.some(({ wakeUp }) => wakeUp.cause === 'message') ? 'message' : 'sweep';
    const isPass = this.leftByLastPass === 0;
    const reading = isPass ? this.readAll(cause) : this.readNewest(cause);
    // The settling of the wake-ups meets the same error and reports it.
    await reading.catch(() => undefined);
    if (isPass) this.leftByLastPass = this.deps.queue.waiting;
  }

  private isBehind(): boolean {
    const { pageSize } = this.deps;
    return pageSize >= LEAST_PAGE && this.deps.queue.waiting >= BATCHES_BEHIND * pageSize;
  }

  /** Settles only what was overdue when it began, so that a row that is postponed meanwhile is not read again and again. */
  private async readAll(cause: TimeoutCause): Promise<void> {
    await this.readNewest(cause);
    const beganAt = this.clock.monotonic();
    let range: ScanRange | undefined;
    for (
      let passedMs = 0;
      passedMs < BUDGET_MS && !this.deps.queue.isSaturated;
      passedMs = this.clock.monotonic() - beganAt
    ) {
      range = (await this.deps.pages.settlePage(range, passedMs, cause)).next;
      if (!range) return;
      await this.readNewest(cause);
    }
  }

  private async readNewest(cause: TimeoutCause): Promise<void> {
    if (!this.deps.queue.isSaturated) await this.deps.pages.settleNewest(cause);
  }
}

/** Whether a read or an operator asked for this timeout. Then no other timeout is settled with it. */
function isForOne({ wakeUp }: WorkItem): boolean {
  return wakeUp.cause !== 'message' && wakeUp.cause !== 'sweep';
}
