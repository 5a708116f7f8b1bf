import { type Clock } from '../clock';
import { BEGINNING, type SweepCursor, type SweptPage } from './swept-page';
import { type TimeoutCause } from './timeout';
import { type WorkItem } from './work-item';

interface BacklogPlan {
  /** Rows of a full page. */
  readonly pageSize: number;
  /** Wake-ups in hand whose timeouts are due, and that no run has begun. */
  waiting(): number;
  /** False while more would only queue up behind something else, or nothing new may begin. */
  mayGoOn(): boolean;
  readPage(cursor: SweepCursor, cause: TimeoutCause): Promise<SweptPage>;
}

/** So many batches of due wake-ups wait: they come faster than they are worked off. */
const BATCHES_BEHIND = 2;
/** The deliveries in hand are not acknowledged meanwhile, and the broker's patience ends after 30 min. */
const BUDGET_MS = 20_000;

/**
 * Behind a backlog the timeouts are read from the table, longest overdue first, and their wake-ups, in hand or still on
 * the broker, find nothing left to do. So the broker does its part, a third of the work of a burst, after it.
 */
export class Backlog {
  private isRead = false;

  constructor(
    private readonly plan: BacklogPlan,
    private readonly clock: Clock,
  ) {}

  /** Works off what is overdue while there is a backlog, before these of its wake-ups are looked at. Never rejects. */
  async workOff(items: readonly WorkItem[]): Promise<void> {
    const isBehind = this.plan.waiting() >= BATCHES_BEHIND * this.plan.pageSize;
    if (!isBehind) this.isRead = false;
    // Once read to its end: what becomes due now is woken by itself.
    if (!isBehind || this.isRead) return;
    // A read or an operator means one timeout, never those that happen to be overdue beside it.
    const cause = items.some(({ wakeUp }) => wakeUp.cause === 'message') ? 'message' : 'sweep';
    // A fault is met again, and told, where the wake-ups are looked at.
    this.isRead = await this.readToTheEnd(cause).catch(() => true);
  }

  /** False when it was not the end, but the budget's or the worker's. */
  private async readToTheEnd(cause: TimeoutCause): Promise<boolean> {
    const endsAt = this.clock.monotonic() + BUDGET_MS;
    let cursor = BEGINNING;
    while (this.plan.mayGoOn() && this.clock.monotonic() < endsAt) {
      const page = await this.plan.readPage(cursor, cause);
      if (page.rows < this.plan.pageSize) return true;
      cursor = page.cursor;
    }
    return false;
  }
}
