import { type AttemptFinding } from '../../src/orders/model/findings';
import { isAskedAtDeadline } from '../../src/orders/close/close-unpaid-orders';
import { type LockedOrder } from '../../src/orders/model/order';
import { type ClosingPlan } from '../../src/orders/model/plan-closing';
import { type DueTimeout, DONE, type TimeoutOutcome } from '../../src/timeouts/model/timeout';
import { interrogateAll } from './interrogate';
import { type LatePath } from './late-path';
import { type ModelHandler } from './model-engine';
import { ruleSees, seenBy } from './seen-by';
import { type World } from './world';

const CHANGED: TimeoutOutcome = { type: 'retry', counted: false, afterMs: 50, reason: 'the order changed meanwhile' };

/** src/orders/close/close-unpaid-orders.ts for one order at a time, with planClosing as it is. */
export function closingHandler(world: World, late: LatePath): ModelHandler<AttemptFinding[]> {
  const { store, trace, random } = world;
  return {
    settle(due) {
      const by = { cause: due.cause };
      store.adoptUnmatched(due.key);
      const order = seenBy(world, due.key);
      if (!order) return CHANGED;
      const answer = due.answer && [...late.claims.withoutTaken(order, due.answer)];
      const plan = planOf(world, late, order, { ...due, ...(answer ? { answer } : {}) });
      store.recordFindings(order.id, plan.findings);
      late.claims.noteFound(order, plan.after, plan.findings);
      late.beginRefunds(plan.returns, 'partial');
      const { transition, outcome } = plan;
      if (transition && !store.apply(transition, ruleSees(world, plan.after))) {
        if (plan.returns.length > 0) throw new Error(`order ${order.id} changed under its lock`);
        return CHANGED;
      }
      if (transition) trace.note(() => `order ${order.id}: ${order.status} -> ${transition.to}`);
      store.keepUnmatched(plan.unmatched);
      if (plan.returns.length > 0) late.enterRefunding(order.id, by);
      else late.settle(order.id, by, { isAsking: outcome !== DONE });
      if (outcome === DONE) late.watch(order.id);
      if (outcome.type !== 'retry' || outcome.afterMs === undefined) return outcome;
      return { ...outcome, afterMs: Math.round(outcome.afterMs * (1 + 0.2 * random.next())) };
    },
    ask(due, errand, answered) {
      // Read outside the transaction: what is registered or paid after this is not asked about.
      interrogateAll(world, store.lock(due.key).attempts.filter(isAskedAtDeadline), errand, answered);
    },
  };
}

/** A part that another order counts on as well does not go back. Nothing ends while confirmed money that names it waits. */
function planOf(world: World, late: LatePath, order: LockedOrder, due: DueTimeout<AttemptFinding[]>): ClosingPlan {
  const { agenda, policy, wiring } = world;
  const plan = wiring.planClosing(order, due, agenda.now, policy.partialPayment);
  if (plan.transition?.to !== 'CLOSED' && plan.transition?.to !== 'CANCELLED') return plan;
  const isDisputed = late.claims.disputed(plan.returns).length > 0;
  const doubted = { ...order, waiting: late.claims.confirmedOf(plan.after) };
  return wiring.planClosing(doubted, due, agenda.now, isDisputed ? 'keep' : policy.partialPayment);
}
