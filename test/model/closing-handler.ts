import { type AttemptFinding } from '../../src/orders/attempt-finding';
import { isWatched } from '../../src/orders/late/plan-watch';
import { canTakeMoney } from '../../src/orders/payment-attempt';
import { planClosing } from '../../src/orders/plan-closing';
import { DONE, type TimeoutOutcome } from '../../src/timeouts/timeout-outcome';
import { interrogateAll } from './interrogate';
import { type LatePath } from './late-path';
import { type ModelHandler } from './model-engine';
import { type World } from './world';

const CHANGED: TimeoutOutcome = { type: 'retry', counted: false, afterMs: 50, reason: 'the order changed meanwhile' };

/** src/orders/close-unpaid-orders.ts for one order at a time, with planClosing as it is. */
export function closingHandler(world: World, late: LatePath): ModelHandler<AttemptFinding[]> {
  const { store, agenda, policy, trace, random } = world;
  return {
    settle(due) {
      const by = { cause: due.cause };
      store.adoptUnclaimed(due.key);
      const order = store.lock(due.key);
      const plan = planClosing(order, due, agenda.now, policy.partialPayment);
      store.recordFindings(order.id, plan.findings);
      late.giveBack(plan.returns, 'partial');
      const { transition, outcome } = plan;
      if (transition && !store.apply(transition)) {
        if (plan.returns.length > 0) throw new Error(`order ${order.id} changed under its lock`);
        return CHANGED;
      }
      if (transition) trace.note(() => `order ${order.id}: ${order.status} -> ${transition.to}`);
      store.keepUnexpected(plan.unexpected);
      if (plan.returns.length > 0) late.enterRefunding(order.id, by);
      else late.settle(order.id, by);
      if (outcome === DONE) late.watch(order.id);
      if (outcome.type !== 'retry' || outcome.afterMs === undefined) return outcome;
      return { ...outcome, afterMs: Math.round(outcome.afterMs * (1 + 0.2 * random.next())) };
    },
    ask(due, errand, answered) {
      // Read outside the transaction: what is registered or paid after this is not asked about.
      const attempts = store.lock(due.key).attempts.filter((attempt) => canTakeMoney(attempt) || isWatched(attempt));
      interrogateAll(world, attempts, errand, answered);
    },
  };
}
