import { type AttemptFinding, waitForOthers, waitForProviders } from '../../src/orders/model/findings';
import { isWorthAsking } from '../../src/orders/pay/reconcile-payments';
import { LOOK_UP, DONE } from '../../src/timeouts/model/timeout';
import { bookPayment, moneyOf } from './book-payment';
import { queryAll } from './interrogate';
import { type LatePath } from './late-path';
import { type ModelHandler } from './model-engine';
import { type World } from './world';

/** src/orders/pay/reconcile-payments.ts. */
export function reconciliationHandler(world: World, late: LatePath): ModelHandler<AttemptFinding[]> {
  const { store, agenda } = world;
  return {
    settle(due) {
      late.claims.release(due.key, (id) => late.watch(id));
      const order = store.lock(due.key);
      if (!due.answer) return order.attempts.some(isWorthAsking) ? LOOK_UP : DONE;
      const by = { cause: due.cause };
      for (const { finding, ...key } of due.answer) {
        if (finding.type !== 'PAID') continue;
        bookPayment(world, late, moneyOf(key, finding), { orderId: order.id, by, handlesUnmatchedLater: true });
      }
      const wait = waitForProviders(store.lock(order.id), due.answer, agenda.now, due);
      late.settle(order.id, by, { verified: !wait, isAsking: true });
      const again = wait ?? waitForOthers(store.lock(order.id), due.answer, agenda.now, due);
      return again ? { type: 'retry', ...again } : DONE;
    },
    ask(due, errand, answered) {
      queryAll(world, store.lock(due.key).attempts.filter(isWorthAsking), errand, answered);
    },
  };
}
