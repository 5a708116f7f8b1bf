import { assertNever, validInstant } from '../../errors';
import { moneyReceived } from './money';
import { type LockedOrder, isUndecided, canTakeMoney, isUnconfirmed, type PaymentAttempt } from './order';
import { type OrderPolicy } from './order-policies';

/** What a due deadline means for an order, before any look-up. */
type ClosingDecision =
  | { readonly type: 'terminal' }
  | { readonly type: 'opted-out' }
  | { readonly type: 'not-due'; readonly dueAt: Date }
  /** Attempts may take money, so look them up at their providers. `entersClosing`: stop new attempts first. */
  | { readonly type: 'look-up'; readonly entersClosing: boolean }
  /** `returns`: partial payments, which are refunded. */
  | { readonly type: 'close'; readonly to: 'CLOSED' | 'CANCELLED'; readonly returns: readonly PaymentAttempt[] }
  | { readonly type: 'pay' }
  /** The order is paid in part, and a person must decide. */
  | { readonly type: 'park'; readonly reason: string };

/** What happens to an order that is paid in part. `keep`: its money is disputed, so nothing refunds it automatically. */
export type PartialPolicy = OrderPolicy['partialPayment'] | 'keep';

/** Why an order that has money is neither closed nor canceled. */
export interface MoneyRefusal {
  readonly code: 'ORDER_HAS_MONEY';
  readonly payments: readonly Pick<PaymentAttempt, 'provider' | 'reference'>[];
}

/** Pure: the first decision for an order whose deadline was reported. `now`: the database's time under the lock. */
export function decideClosing(order: LockedOrder, now: Date, partial: PartialPolicy): ClosingDecision {
  validInstant(now);
  const hasOpenAttempts = order.attempts.some(canTakeMoney);
  // No buyer may pay twice, so attempts that are open on a paid order are closed, too.
  if (order.status === 'PAID' && hasOpenAttempts) return { type: 'look-up', entersClosing: false };
  if (!isUndecided(order.status)) return { type: 'terminal' };
  if (moneyReceived(order, order.attempts).type === 'sufficient') return { type: 'pay' };
  if (order.status === 'PENDING') {
    if (!order.autoClose) return { type: 'opted-out' };
    const dueAt = closesAt(order);
    if (now < dueAt) return { type: 'not-due', dueAt };
  }
  if (hasOpenAttempts) return { type: 'look-up', entersClosing: order.status === 'PENDING' };
  // Too little according to a report. The provider may have taken more, or nothing.
  const isDoubtful = order.attempts.some(isUnconfirmed);
  if (isDoubtful)
    return { type: 'look-up', entersClosing: order.status === 'PENDING' && partial === 'refund-and-close' };
  return decideWithoutOpenAttempts(order, partial);
}

/** Whether the part of the price that an order has is refunded when it ends. Who cancels it has decided that. */
export function refundsPart({ closingReason }: Pick<LockedOrder, 'closingReason'>, partial: PartialPolicy): boolean {
  return partial === 'refund-and-close' || (partial === 'park' && closingReason === 'cancelled');
}

/**
 * Pure: names the payments that an order has.
 *
 * @param waiting confirmed money that names the order and waits for a person.
 */
export function refuseMoney({ attempts }: LockedOrder, waiting: MoneyRefusal['payments'] = []): MoneyRefusal {
  const payments = [...attempts.filter(({ status }) => status === 'PAID'), ...waiting];
  const named = payments.map(
    ({ provider, reference }) => [`${provider}\n${reference}`, { provider, reference }] as const,
  );
  return { code: 'ORDER_HAS_MONEY', payments: [...new Map(named).values()] };
}

/** A partial payment is refunded automatically only if it is certain that it arrived, and that it is for this order. */
function decidePart(
  order: LockedOrder,
  to: 'CLOSED' | 'CANCELLED',
  sentence: string,
  partial: PartialPolicy,
): Extract<ClosingDecision, { type: 'close' | 'park' }> {
  const paid = order.attempts.filter(({ status }) => status === 'PAID');
  const doubtful = paid.find((attempt) => isUnconfirmed(attempt) || !attempt.registered);
  if (!refundsPart(order, partial)) return { type: 'park', reason: sentence };
  if (!doubtful) return { type: 'close', to, returns: paid };
  const why = doubtful.registered ? 'the provider does not confirm' : 'no attempt was registered for';
  return { type: 'park', reason: `${sentence}; ${why} the payment ${doubtful.reference} of ${doubtful.provider}` };
}

/** When the closing begins: at the buyer's deadline plus the grace. */
export function closesAt({ expiresAt, graceMs }: Pick<LockedOrder, 'expiresAt' | 'graceMs'>): Date {
  return new Date(expiresAt.getTime() + graceMs);
}

/** Whether its deadline is being processed, or has left the decision to a person. */
export function isDue(order: LockedOrder, now: Date): boolean {
  if (order.status === 'CLOSING') return true;
  return order.status === 'PENDING' && order.autoClose && now >= closesAt(order);
}

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

/**
 * Pure: returns the payments to refund if this undecided order is canceled. Undefined: it cannot be, because it is paid,
 * or because a person must decide about its money.
 */
export function refundsOfCancellation(order: LockedOrder): readonly PaymentAttempt[] | undefined {
  const decision = decideWithoutOpenAttempts({ ...order, closingReason: 'cancelled' }, 'refund-and-close');
  return decision.type === 'close' ? decision.returns : undefined;
}
