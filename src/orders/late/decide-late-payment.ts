import { assertNever } from '../../errors';
import { moneyReceived } from '../money-received';
import { type LockedOrder } from '../order';
import { type OrderPolicy } from '../order-policy-options';
import { type PaymentAttempt } from '../payment-attempt';

/** Why money does not belong to its order. */
export type LateReason = 'late' | 'surplus';

/** What to do with money that an order holds and does not need. */
export type LateDecision =
  | { readonly type: 'nothing' }
  /** The order becomes PAID after all, if its stock can be had; else all of it goes back. */
  | { readonly type: 'revive'; readonly attempts: readonly PaymentAttempt[] }
  | { readonly type: 'refund'; readonly reason: LateReason; readonly attempts: readonly PaymentAttempt[] }
  /** A person has to decide. */
  | { readonly type: 'keep'; readonly reason: LateReason; readonly attempts: readonly PaymentAttempt[] };

type Policy = Pick<OrderPolicy, 'latePayment' | 'surplusPayment'>;

const NOTHING: LateDecision = { type: 'nothing' };

/** Pure: looks at every payment of a locked order that is neither needed nor on its way back. */
export function decideLatePayment(order: LockedOrder, policy: Policy): LateDecision {
  switch (order.status) {
    case 'PENDING':
    case 'CLOSING':
      return NOTHING;
    case 'PAID':
      return decideSurplus(order, policy);
    case 'CLOSED':
      return decideClosed(order, policy);
    case 'CANCELLED':
    case 'REFUNDING':
    case 'CLOSED_REFUNDED':
      return giveUp(paidAttempts(order), policy.latePayment === 'keep' ? 'keep' : 'refund', 'late');
    default:
      return assertNever(order.status);
  }
}

function decideSurplus(order: LockedOrder, { surplusPayment }: Policy): LateDecision {
  const money = moneyReceived(order, order.attempts);
  return money.type === 'sufficient' ? giveUp(money.surplus, surplusPayment, 'surplus') : NOTHING;
}

function decideClosed(order: LockedOrder, { latePayment }: Policy): LateDecision {
  const isEnough = moneyReceived(order, order.attempts).type === 'sufficient';
  if (latePayment !== 'revive-if-stock' || !isEnough) {
    return giveUp(paidAttempts(order), latePayment === 'keep' ? 'keep' : 'refund', 'late');
  }
  return { type: 'revive', attempts: paidAttempts(order) };
}

function paidAttempts({ attempts }: LockedOrder): PaymentAttempt[] {
  return attempts.filter((attempt) => attempt.status === 'PAID');
}

function giveUp(attempts: readonly PaymentAttempt[], type: 'refund' | 'keep', reason: LateReason): LateDecision {
  return attempts.length === 0 ? NOTHING : { type, reason, attempts };
}
