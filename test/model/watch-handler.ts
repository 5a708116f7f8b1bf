import { type AttemptFinding } from '../../src/orders/model/findings';
import { isWatched, mustBeginAnew, planWatch } from '../../src/orders/unmatched/payment-watch';
import { isUndecided } from '../../src/orders/model/order';
import { LOOK_UP, DONE } from '../../src/timeouts/model/timeout';
import { interrogateAll } from './interrogate';
import { type LatePath } from './late-path';
import { type ModelHandler } from './model-engine';
import { type World } from './world';

/** src/orders/unmatched/watch-ended-orders.ts: asks once more about attempts that were taken for closed. */
export function watchHandler(world: World, late: LatePath): ModelHandler<AttemptFinding[]> {
  const { store, agenda, policy } = world;
  return {
    settle(due) {
      const before = store.lock(due.key);
      const findings = late.claims.withoutTaken(before, due.answer ?? []);
      store.recordFindings(due.key, findings);
      late.claims.noteFound(before, store.lock(due.key), findings);
      const order = store.lock(due.key);
      if (isUndecided(order.status)) return DONE;
      if (!due.answer) return order.attempts.some(isWatched) ? LOOK_UP : DONE;
      const since = new Date(String(due.payload.since));
      const round = { since, now: agenda.now, due, offsetsMs: policy.lateWatchOffsetsMs };
      const outcome = planWatch(findings, round);
      late.settle(order.id, { cause: due.cause }, { isAsking: outcome.type === 'retry' });
      if (!mustBeginAnew(findings, round)) return outcome;
      late.watch(order.id, outcome);
      return DONE;
    },
    ask(due, errand, answered) {
      interrogateAll(world, store.lock(due.key).attempts.filter(isWatched), errand, answered);
    },
  };
}
