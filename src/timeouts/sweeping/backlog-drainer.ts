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
  readonly pages: Pick<OverduePages, 'settle'>;
}

/** So many batches of due wake-ups wait: they come faster than they are worked off. */
const BATCHES_BEHIND = 2;
/** A wake-up of a small batch costs as much as its timeout, so there is nothing to gain. */
const LEAST_PAGE = 20;
/** Received deliveries are not acknowledged meanwhile, and the broker's patience ends after 30 min. */
const BUDGET_MS = 20_000;

/**
 * Behind a backlog the timeouts are read from the table, longest overdue first, and their wake-ups, received or still on
 * the broker, find nothing left to do. So the broker does its part, a third of the work of a burst, after it. The
 * wake-ups that wait at the end of a pass have their turn before there is another one.
 */
export class BacklogDrainer {
  private owed = 0;

  constructor(
    private readonly deps: BacklogDependencies,
    private readonly clock: Clock,
  ) {}

  /** Works off what is overdue while there is a backlog, before these of its wake-ups are looked at. Never rejects. */
  async workOff(items: readonly WorkItem[]): Promise<void> {
    this.owed = Math.max(this.owed - items.length, 0);
    if (this.owed > 0 || !this.isBehind() || items.some(isForOne)) return;
    const cause = items.some(({ wakeUp }) => wakeUp.cause === 'message') ? 'message' : 'sweep';
    // A fault is met again, and told, where the wake-ups are looked at.
    await this.read(cause).catch(() => undefined);
    this.owed = this.deps.queue.waiting;
  }

  private isBehind(): boolean {
    const { pageSize } = this.deps;
    return pageSize >= LEAST_PAGE && this.deps.queue.waiting >= BATCHES_BEHIND * pageSize;
  }

  /** What was overdue at its beginning: a row that is put off meanwhile must not be met again and again. */
  private async read(cause: TimeoutCause): Promise<void> {
    const beganAt = this.clock.monotonic();
    let range: ScanRange | undefined;
    for (
      let passedMs = 0;
      passedMs < BUDGET_MS && !this.deps.queue.isSaturated;
      passedMs = this.clock.monotonic() - beganAt
    ) {
      range = (await this.deps.pages.settle(range, passedMs, cause)).next;
      if (!range) return;
    }
  }
}

/** A read or an operator means one timeout, never those that happen to be overdue beside it. */
function isForOne({ wakeUp }: WorkItem): boolean {
  return wakeUp.cause !== 'message' && wakeUp.cause !== 'sweep';
}
