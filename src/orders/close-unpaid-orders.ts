import { Inject, Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { DONE, type DueTimeout, TimeoutHandler, type TimeoutHandlerBatch, type TimeoutOutcome } from '../timeouts';
import { AskProviders } from './ask-providers';
import { type AttemptFinding } from './attempt-finding';
import { type ClosingPlan, planClosing } from './plan-closing';
import { type LockedBatch, ORDER_STORE, type OrderStore } from './order-store';
import { ORDER_PAYMENT } from './order-timeouts';

/** Another transaction works on the order; it is short, as none of ours waits for anything remote. */
const BUSY: TimeoutOutcome = { type: 'retry', counted: false, afterMs: 200, reason: 'the order row is locked' };
/** The order changed between decision and effect; decide again on what it is now. */
const CHANGED: TimeoutOutcome = { type: 'retry', counted: false, afterMs: 50, reason: 'the order changed meanwhile' };

/**
 * What happens at the deadline. Orders without an attempt that could take money close straight away, a whole batch in
 * one transaction; for the others CLOSING is committed first, then their providers are asked outside any transaction,
 * then what is proven is written.
 */
@Injectable()
@TimeoutHandler(ORDER_PAYMENT)
export class CloseUnpaidOrders implements TimeoutHandlerBatch<AttemptFinding[]> {
  constructor(
    @Inject(ORDER_STORE) private readonly store: OrderStore,
    private readonly providers: AskProviders,
  ) {}

  async settle(due: readonly DueTimeout<AttemptFinding[]>[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    const batch = await this.store.lock(
      tx,
      due.map((timeout) => timeout.key),
      'skip-locked',
    );
    const plans = due.map((timeout) => planFor(timeout, batch));
    await this.store.recordFindings(tx, plans.flatMap(findingsOf));
    const moved = await this.store.apply(
      tx,
      plans.flatMap((plan) => plan.transition ?? []),
    );
    await this.store.keepUnexpected(
      tx,
      plans.filter((plan) => hasHappened(plan, moved)).flatMap((plan) => plan.unexpected),
    );
    return plans.map((plan) => (hasHappened(plan, moved) ? withJitter(plan.outcome) : CHANGED));
  }

  async ask(due: DueTimeout, signal: AbortSignal): Promise<AttemptFinding[]> {
    const { now, attempts } = await this.store.openAttempts(due.key);
    return this.providers.close(attempts, now, signal);
  }
}

function planFor(timeout: DueTimeout<AttemptFinding[]>, batch: LockedBatch): ClosingPlan {
  const order = batch.orders.get(timeout.key);
  if (order) return planClosing(order, timeout, batch.now);
  // An order that is not there any more needs no closing.
  return { outcome: batch.busy.has(timeout.key) ? BUSY : DONE, findings: [], unexpected: [] };
}

function findingsOf(plan: ClosingPlan): readonly AttemptFinding[] {
  return plan.findings;
}

/** A plan with a transition is void when the compare-and-set did not find the order as it was planned for. */
function hasHappened(plan: ClosingPlan, moved: ReadonlySet<string>): boolean {
  return plan.transition === undefined || moved.has(plan.transition.order.id);
}

/** + 0-20 %, so that what waits together does not ask together. */
function withJitter(outcome: TimeoutOutcome): TimeoutOutcome {
  if (outcome.type !== 'retry' || outcome.afterMs === undefined) return outcome;
  return { ...outcome, afterMs: Math.round(outcome.afterMs * (1 + 0.2 * Math.random())) };
}
