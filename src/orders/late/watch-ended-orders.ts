import { type EntityManager } from 'typeorm';
import {
  ASK,
  DONE,
  type DueTimeout,
  type TimeoutHandlerBatch,
  type TimeoutOutcome,
  TimeoutHandler,
} from '../../timeouts';
import { type AskProviders } from '../ask-providers';
import { type AttemptFinding } from '../attempt-finding';
import { BUSY } from '../busy';
import { withFindings } from '../decide-settlement';
import { isUndecided } from '../order-status';
import { type OrderPolicies } from '../order-policies';
import { type LockedBatch, type OrderStore } from '../order-store';
import { ORDER_LATE_WATCH } from '../order-timeouts';
import { type LatePayments } from './late-payments';
import { isWatched, planWatch } from './plan-watch';

type Due = DueTimeout<AttemptFinding[]>;

/**
 * Looks after orders that have ended: asks the providers of their closed attempts again, at the offsets of the policy,
 * as notifications get lost and a close may have been answered too early. Money that is found goes the way of every
 * late payment; an attempt that is open again is closed again. Few calls at once: deadlines come first.
 */
@TimeoutHandler(ORDER_LATE_WATCH, { askConcurrency: 8, concurrency: 1 })
export class WatchEndedOrders implements TimeoutHandlerBatch<AttemptFinding[]> {
  constructor(
    private readonly store: OrderStore,
    private readonly providers: AskProviders,
    private readonly policies: OrderPolicies,
    private readonly late: LatePayments,
  ) {}

  async settle(due: readonly Due[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    const batch = await this.store.lock(
      tx,
      due.map((timeout) => timeout.key),
      'skip-locked',
    );
    const isHeld = ({ key }: Due): boolean => batch.orders.has(key);
    await this.store.recordFindings(
      tx,
      due.filter(isHeld).flatMap((timeout) => timeout.answer ?? []),
    );
    const found = due.flatMap((timeout) => {
      const order = batch.orders.get(timeout.key);
      return order && timeout.answer ? [withFindings(order, timeout.answer)] : [];
    });
    await this.late.lockStock(found, { tx });
    const outcomes: TimeoutOutcome[] = [];
    for (const timeout of due) outcomes.push(await this.settleOne(timeout, batch, tx));
    return outcomes;
  }

  async ask(due: DueTimeout, signal: AbortSignal): Promise<AttemptFinding[]> {
    const { now, attempts } = await this.store.attemptsOf(due.key, ['CLOSED']);
    return this.providers.close(attempts, now, signal);
  }

  private async settleOne(due: Due, { orders, busy, now }: LockedBatch, tx: EntityManager): Promise<TimeoutOutcome> {
    const order = orders.get(due.key);
    if (!order) return busy.has(due.key) ? BUSY : DONE;
    if (isUndecided(order.status)) return DONE;
    if (!due.answer) return order.attempts.some(isWatched) ? ASK : DONE;
    const after = withFindings(order, due.answer);
    await this.late.settle(after, { tx, now, by: { cause: due.cause, traceparent: due.traceparent } });
    const offsetsMs = this.policies.of(order.merchantId).lateWatchOffsetsMs;
    return planWatch(due.answer, { since: sinceOf(due), now, dueAt: due.dueAt, offsetsMs });
  }
}

/** When the order ended; written into the timeout when it was scheduled. */
function sinceOf({ payload, dueAt }: Due): Date {
  const since = new Date(String(payload.since));
  return Number.isNaN(since.getTime()) ? dueAt : since;
}
