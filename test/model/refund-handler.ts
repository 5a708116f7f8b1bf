import { decideRefund, type RefundAnswer } from '../../src/orders/unmatched/decide-refund';
import { isSameAttempt } from '../../src/orders/payment-attempt';
import { transition } from '../../src/orders/transition';
import { LOOK_UP, DONE } from '../../src/timeouts/handlers/timeout-outcome';
import { type ModelHandler } from './model-engine';
import { type RefundRow } from './model-store';
import { type World } from './world';

/** src/orders/unmatched/refund-payments.ts: asks with the same number until the provider says that the money is back. */
export function refundHandler(world: World): ModelHandler<RefundAnswer> {
  const { store, agenda } = world;
  return {
    settle(due) {
      const refund = rowOf(world, due.key);
      if (refund.status === 'REFUNDED') return DONE;
      if (!due.answer) return LOOK_UP;
      const decision = decideRefund(due.answer, agenda.nowMs - refund.createdMs);
      if (decision.type !== 'refunded') return decision;
      finish(world, refund);
      return DONE;
    },
    ask(due, errand, answered) {
      const { number: refundNumber, amount, currency, orderId, ...key } = rowOf(world, due.key);
      const attempt = store.lock(orderId).attempts.find((candidate) => isSameAttempt(candidate, key));
      if (!attempt) return answered({ type: 'NO_PROVIDER', reason: `no attempt ${key.reference}` });
      const provider = world.providerOf(attempt);
      const { reference, createdAt } = attempt;
      const ref = { provider: attempt.provider, reference, amount: attempt.amount, currency, createdAt };
      const request = { attempt: ref, refundNumber, amount, paidAmount: amount, currency, reason: 'model' };
      provider.refund(request, (answer) => errand.after(0, () => answered(answer)));
    },
  };
}

function finish({ store, agenda, trace }: World, refund: RefundRow): void {
  refund.status = 'REFUNDED';
  store.setAttemptStatus(refund.orderId, [refund], 'REFUNDED');
  const order = store.lock(refund.orderId);
  const hasPending = [...store.refunds.values()].some((row) => row.orderId === order.id && row.status === 'PENDING');
  if (order.status !== 'REFUNDING' || hasPending) return;
  store.apply(transition(order, 'CLOSED_REFUNDED', { by: { cause: 'message' }, now: agenda.now }));
  trace.note(() => `order ${order.id}: REFUNDING -> CLOSED_REFUNDED`);
}

function rowOf({ store }: World, number: string): RefundRow {
  const refund = store.refunds.get(number);
  if (!refund) throw new Error(`there is no refund ${number}`);
  return refund;
}
