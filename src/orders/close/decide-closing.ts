import { assertNever, validInstant } from '../../errors';
import { moneyReceived } from '../pay/money-received';
import { type LockedOrder } from '../order';
import { type OrderPolicy } from '../order-policy-options';
import { isUndecided } from '../order-status';
import { canTakeMoney, isUnconfirmed, type PaymentAttempt } from '../payment-attempt';

/** What a due deadline means for an order, before any provider was asked. */
export type ClosingDecision =
  /** Decided already; nothing to do. */
  | { readonly type: 'terminal' }
  /** Auto-close is off. */
  | { readonly type: 'opted-out' }
  /** The deadline was moved. */
  | { readonly type: 'not-due'; readonly dueAt: Date }
  /** Attempts may take money: ask their providers. `entersClosing`: shut the order for new attempts first. */
  | { readonly type: 'look-up'; readonly entersClosing: boolean }
  /** `returns`: payments that are too little, and go back. */
  | { readonly type: 'close'; readonly to: 'CLOSED' | 'CANCELLED'; readonly returns: readonly PaymentAttempt[] }
  /** The money is there, and nobody had noticed. */
  | { readonly type: 'pay' }
  /** Some money is there, but not enough, and a person has to decide. */
  | { readonly type: 'park'; readonly reason: string };

/** What becomes of an order that is paid in part. */
export type PartialPolicy = OrderPolicy['partialPayment'];

/** Pure: the first decision about an order whose deadline was reported. `now` is the database's, under the lock. */
export function decideClosing(order: LockedOrder, now: Date, partial: PartialPolicy): ClosingDecision {
  validInstant(now);
  const hasOpenAttempts = order.attempts.some(canTakeMoney);
  // Nobody may pay twice: what is still open on a paid order is closed too.
  if (order.status === 'PAID' && hasOpenAttempts) return { type: 'look-up', entersClosing: false };
  if (!isUndecided(order.status)) return { type: 'terminal' };
  if (moneyReceived(order, order.attempts).type === 'sufficient') return { type: 'pay' };
  if (order.status === 'PENDING') {
    if (!order.autoClose) return { type: 'opted-out' };
    const dueAt = closesAt(order);
    if (now < dueAt) return { type: 'not-due', dueAt };
  }
  if (hasOpenAttempts) return { type: 'look-up', entersClosing: order.status === 'PENDING' };
  // Too little by a report: the provider may have taken more, or nothing at all.
  const isDoubtful = order.attempts.some(isUnconfirmed);
  if (isDoubtful) return { type: 'look-up', entersClosing: order.status === 'PENDING' && partial !== 'park' };
  return decideWithoutOpenAttempts(order, partial);
}

/** Money that is too little goes back by itself only where it is certain that it came, and that it came for this order. */
function decidePart(
  { attempts }: LockedOrder,
  to: 'CLOSED' | 'CANCELLED',
  sentence: string,
  partial: PartialPolicy,
): Extract<ClosingDecision, { type: 'close' | 'park' }> {
  const paid = attempts.filter(({ status }) => status === 'PAID');
  const doubtful = paid.find((attempt) => isUnconfirmed(attempt) || !attempt.registered);
  if (partial === 'park') return { type: 'park', reason: sentence };
  if (!doubtful) return { type: 'close', to, returns: paid };
  const why = doubtful.registered ? 'the provider does not confirm' : 'nobody had registered';
  return { type: 'park', reason: `${sentence}; ${why} the payment ${doubtful.reference} of ${doubtful.provider}` };
}

/** When we begin to close: the buyer's deadline and the grace after it. */
export function closesAt({ expiresAt, graceMs }: Pick<LockedOrder, 'expiresAt' | 'graceMs'>): Date {
  return new Date(expiresAt.getTime() + graceMs);
}

/** Pure: an undecided order none of whose attempts can bring money any more. */
export function decideWithoutOpenAttempts(
  order: LockedOrder,
  partial: PartialPolicy,
): Extract<ClosingDecision, { type: 'close' | 'pay' | 'park' }> {
  const money = moneyReceived(order, order.attempts);
  const to = order.closingReason === 'cancelled' ? 'CANCELLED' : 'CLOSED';
  switch (money.type) {
    case 'nothing':
      return { type: 'close', to, returns: [] };
    case 'sufficient':
      return { type: 'pay' };
    case 'insufficient':
      return decidePart(order, to, money.sentence, partial);
    default:
      return assertNever(money);
  }
}
