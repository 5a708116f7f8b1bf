import { decideCheck, decideRefund, type RefundAnswer } from '../../src/orders/unmatched/refunds';
import { waitedMs } from '../../src/orders/model/findings';
import { isSameRow } from '../../src/orders/model/order';
import { transition } from '../../src/orders/model/transition';
import { LOOK_UP, DONE } from '../../src/timeouts/model/timeout';
import { type ModelHandler } from './model-engine';
import { type RefundRow } from './model-store';
import { unmatchedFromAttempt } from '../../src/orders/model/unmatched-money';
import { type UnmatchedRow } from './unmatched-table';
import { type World } from './world';

/** src/orders/unmatched/refund-payments.ts: asks with the same number until the provider says that the money is back. */
export function refundHandler(world: World): ModelHandler<RefundAnswer> {
  const { store, agenda } = world;
  return {
    settle(due) {
      const refund = store.refunds.get(due.key);
      if (!refund || isOver(world, refund, due.payload.isCheck === true)) return DONE;
      const answer = refund.isPaidBack ? PAID_BACK : due.answer;
      if (!answer) return LOOK_UP;
      const isConfirmed = refund.status === 'REFUNDED' && !refund.isPaidBack;
      const decision = isConfirmed
        ? decideCheck(answer, waitedMs(due, agenda.now))
        : decideRefund(answer, waitedMs(due, agenda.now));
      if (decision.type === 'failed') reopen(world, refund);
      if (answer.type === 'REJECTED') tellOfFailure(world, refund);
      if (decision.type === 'retry') return decision;
      if (decision.type === 'refunded') finish(world, refund);
      if (decision.type !== 'failed') return DONE;
      return { type: 'retry', counted: true, reason: `the refund failed after it was done: ${decision.reason}` };
    },
    ask(due, errand, answered) {
      const { number: refundNumber, amount, currency, orderId, ...key } = rowOf(world, due.key);
      const attempt = store.lock(orderId).attempts.find((candidate) => isSameRow(candidate, key));
      if (!attempt) return answered({ type: 'NO_PROVIDER', reason: `no attempt ${key.reference}` });
      const provider = world.providerOf(attempt);
      const { reference, createdAt, transactionId } = attempt;
      const ref = { provider: attempt.provider, reference, amount: attempt.amount, currency, createdAt };
      const request = { attempt: ref, refundNumber, amount, paidAmount: amount, currency, reason: 'model' };
      const named = transactionId === null ? request : { ...request, transactionId };
      provider.refund(named, (answer) => errand.after(0, () => answered(answer)));
    },
  };
}

const PAID_BACK: RefundAnswer = { type: 'REFUNDED', refundId: 'by hand', evidence: {} };

/** A refund that is done is asked for again only if a notification has scheduled that, and never one that a person did. */
function isOver({ store }: World, refund: RefundRow, isCheck: boolean): boolean {
  const attempt = store.lock(refund.orderId).attempts.find((candidate) => isSameRow(candidate, refund));
  if (attempt?.status === 'REFUNDING') return false;
  return refund.status !== 'REFUNDED' || refund.isPaidBack === true || !isCheck;
}

/** The money is back at the merchant. The refund is pending again. */
function reopen({ store, agenda, trace }: World, refund: RefundRow): void {
  refund.status = 'PENDING';
  store.setAttemptStatus(refund.orderId, [refund], 'REFUNDING');
  const order = store.lock(refund.orderId);
  trace.note(() => `the refund of ${refund.reference} is pending again`);
  if (order.status === 'CLOSED_REFUNDED') {
    store.apply(transition(order, 'REFUNDING', { by: { cause: 'message' }, now: agenda.now }));
  }
}

/** A person is told. */
function tellOfFailure({ store, agenda }: World, refund: RefundRow): void {
  const attempt = store.lock(refund.orderId).attempts.find((candidate) => isSameRow(candidate, refund));
  const why = { reason: 'refund-failed', handling: 'kept', now: agenda.now, traceparent: undefined } as const;
  if (attempt) store.keepUnmatched([unmatchedFromAttempt(attempt, why)]);
}

function finish({ store, agenda, trace }: World, refund: RefundRow): void {
  refund.status = 'REFUNDED';
  store.setAttemptStatus(refund.orderId, [refund], 'REFUNDED');
  store.unmatched.handle((row) => isFailure(row, refund) && row.handling === 'kept', 'refunding');
  const order = store.lock(refund.orderId);
  const hasPending = [...store.refunds.values()].some((row) => row.orderId === order.id && row.status === 'PENDING');
  if (order.status !== 'REFUNDING' || hasPending) return;
  store.apply(transition(order, 'CLOSED_REFUNDED', { by: { cause: 'message' }, now: agenda.now }));
  trace.note(() => `order ${order.id}: REFUNDING -> CLOSED_REFUNDED`);
}

/** Whether this row tells of the failure of this refund. */
export function isFailure(row: UnmatchedRow, refund: RefundRow): boolean {
  return row.reason === 'refund-failed' && isSameRow(row, refund);
}

function rowOf({ store }: World, number: string): RefundRow {
  const refund = store.refunds.get(number);
  if (!refund) throw new Error(`there is no refund ${number}`);
  return refund;
}
