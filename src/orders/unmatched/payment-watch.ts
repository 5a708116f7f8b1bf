import { type EntityManager } from 'typeorm';
import { type ScheduleTimeout, type TimeoutScheduler } from '../../timeouts';
import { type LockedOrder } from '../order';
import { type OrderPolicies } from '../order-policies';
import { isUndecided } from '../order-status';
import { ORDER_LATE_WATCH } from '../order-timeouts';
import { isWatched, nextWatchAt } from './plan-watch';

/** Starts the payment watch of ended orders. */
export class PaymentWatch {
  constructor(
    private readonly scheduler: TimeoutScheduler,
    private readonly policies: OrderPolicies,
  ) {}

  /** Schedules the first look-up for each of these orders that has a closed attempt, in the caller's transaction. */
  async begin(tx: EntityManager, orders: readonly LockedOrder[], now: Date, traceparent?: string): Promise<void> {
    const trace = traceparent === undefined ? {} : { traceparent };
    const rounds = orders.flatMap((order) => this.firstRound(order, now)).map((round) => ({ ...round, ...trace }));
    await this.scheduler.schedule(rounds, { tx });
  }

  private firstRound(order: LockedOrder, now: Date): ScheduleTimeout[] {
    if (isUndecided(order.status) || !order.attempts.some(isWatched)) return [];
    const dueAt = nextWatchAt(now, this.policies.of(order.merchantId).lateWatchOffsetsMs, now);
    return dueAt ? [{ kind: ORDER_LATE_WATCH, key: order.id, dueAt, payload: { since: now.toISOString() } }] : [];
  }
}
