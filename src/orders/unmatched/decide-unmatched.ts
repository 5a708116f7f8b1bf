import { assertNever } from '../../errors';
import { neededPayments } from '../pay/decide-claim';
import { isPaidByReports, moneyReceived } from '../pay/money-received';
import { type LockedOrder } from '../order';
import { type OrderPolicy } from '../order-policy-options';
import { isClaim, isUnconfirmed, type PaymentAttempt } from '../payment-attempt';

/** Why an order does not need a payment. */
export type LateOrSurplus = 'late' | 'surplus';

/** What happens to payments that an order does not need. */
export interface RefundDecision {
  readonly type: 'refund';
  readonly reason: LateOrSurplus;
  /** These are refunded. */
  readonly refunds: readonly PaymentAttempt[];
  /** A person must decide about these. */
  readonly kept: readonly PaymentAttempt[];
  /**
   * Only a report vouches for these, or for the payments that make them unneeded. They must be looked up at the
   * provider first.
   */
  readonly unverified: readonly PaymentAttempt[];
}

/** What to do with money that an order holds and does not need. */
export type UnmatchedDecision =
  | { readonly type: 'nothing' }
  /** The order becomes PAID after all if its stock is available; otherwise all of it is refunded. */
  | { readonly type: 'revive'; readonly attempts: readonly PaymentAttempt[] }
  | RefundDecision;

/** The policies that decide. */
export type UnmatchedPolicy = Pick<OrderPolicy, 'latePayment' | 'surplusPayment'>;

/** `verified`: the payments were looked up just now. Unconfirmed ones are kept. */
export interface Verification {
  readonly verified: boolean;
}

const NOTHING: UnmatchedDecision = { type: 'nothing' };
const DOUBTFUL: RefundDecision = { type: 'refund', reason: 'surplus', refunds: [], kept: [], unverified: [] };

/** Pure: decides about every payment of a locked order that is neither needed nor being refunded. */
export function decideUnmatched(
  order: LockedOrder,
  policy: UnmatchedPolicy,
  verification: Verification,
): UnmatchedDecision {
  switch (order.status) {
    case 'PENDING':
    case 'CLOSING':
      return NOTHING;
    case 'PAID':
      return decideSurplus(order, policy, verification);
    case 'CLOSED':
      return decideClosed(order, policy, verification);
    case 'CANCELLED':
    case 'REFUNDING':
    case 'CLOSED_REFUNDED':
      return decideLate(order, policy, verification);
    default:
      return assertNever(order.status);
  }
}

/** Pure: decides about all payments of an order that ended without needing any. */
export function decideLate(
  order: LockedOrder,
  { latePayment }: UnmatchedPolicy,
  verification: Verification,
): UnmatchedDecision {
  return refundPayments(paidAttempts(order), 'late', latePayment === 'keep' || isErased(order), verification);
}

/** Pure: whether what is too much of a paid order may be refunded: its provider has confirmed all that pays the order. */
export function mayRefundExcess(order: LockedOrder, { overpayment }: Pick<OrderPolicy, 'overpayment'>): boolean {
  return overpayment === 'refund-excess' && !isErased(order) && !neededPayments(order).some(isClaim);
}

function decideSurplus(
  order: LockedOrder,
  { surplusPayment }: UnmatchedPolicy,
  verification: Verification,
): UnmatchedDecision {
  const money = moneyReceived(order, order.attempts);
  if (money.type !== 'sufficient') return NOTHING;
  // A report may state too little, so that none of several payments seems to be surplus.
  const reported = order.attempts.filter(isUnconfirmed);
  const isAlone = reported.length === 1 && (money.surplus.length > 0 || paidAttempts(order).length === 1);
  const mayHideSurplus = reported.length > 0 && !isAlone;
  if (mayHideSurplus && !verification.verified) return { ...DOUBTFUL, unverified: reported };
  if (money.surplus.length === 0) return NOTHING;
  const keeps = surplusPayment === 'keep' || isErased(order);
  // The payments that pay the order must be certain before others are refunded as surplus.
  if (!isPaidByReports(order, order.attempts)) return refundPayments(money.surplus, 'surplus', keeps, verification);
  if (keeps || verification.verified) return { ...DOUBTFUL, kept: money.surplus };
  return { ...DOUBTFUL, unverified: money.surplus };
}

function decideClosed(order: LockedOrder, policy: UnmatchedPolicy, verification: Verification): UnmatchedDecision {
  const isEnough = moneyReceived(order, order.attempts).type === 'sufficient';
  if (policy.latePayment !== 'revive-if-stock' || !isEnough || isErased(order))
    return decideLate(order, policy, verification);
  return { type: 'revive', attempts: paidAttempts(order) };
}

/** Nobody can tell anymore whether the order had a payment already, so a person decides about every payment. */
function isErased(order: LockedOrder): boolean {
  return order.isErased === true;
}

function paidAttempts({ attempts }: LockedOrder): PaymentAttempt[] {
  return attempts.filter((attempt) => attempt.status === 'PAID');
}

/**
 * Money is refunded automatically only if it is certain that it arrived, and that it is for this order. Otherwise a
 * caller that may report payments could have any payment of the account refunded.
 */
function refundPayments(
  attempts: readonly PaymentAttempt[],
  reason: LateOrSurplus,
  keeps: boolean,
  { verified }: Verification,
): UnmatchedDecision {
  if (attempts.length === 0) return NOTHING;
  const isKept = (attempt: PaymentAttempt): boolean =>
    keeps || !attempt.registered || (verified && isUnconfirmed(attempt));
  const others = attempts.filter((attempt) => !isKept(attempt));
  return {
    type: 'refund',
    reason,
    kept: attempts.filter(isKept),
    unverified: others.filter(isUnconfirmed),
    refunds: others.filter((attempt) => !isUnconfirmed(attempt)),
  };
}
