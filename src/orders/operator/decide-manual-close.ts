import { decideWithoutOpenAttempts, type MoneyRefusal, refuseMoney } from '../close/decide-closing';
import { type LockedOrder } from '../order';
import { isUndecided, type OrderStatus } from '../order-status';
import { canTakeMoney, type PaymentAttempt, withStatus } from '../payment-attempt';

/** Why an order cannot be closed manually. `ORDER_HAS_MONEY`: it is paid, fully or in part, or confirmed money waits. */
export type ManualCloseRefusal = { readonly code: 'ORDER_NOT_CLOSABLE'; readonly status: OrderStatus } | MoneyRefusal;

export type ManualCloseDecision =
  /** `declared`: attempts that the operator has seen closed at their providers. */
  | { readonly type: 'close'; readonly to: 'CLOSED' | 'CANCELLED'; readonly declared: readonly PaymentAttempt[] }
  /** Providers must close attempts first. */
  | { readonly type: 'look-up' }
  | { readonly type: 'already-closed' }
  | { readonly type: 'refuse'; readonly refusal: ManualCloseRefusal };

/**
 * Pure: decides what an operator's close does to a locked order.
 *
 * @param attemptsAreClosed the operator's declaration.
 * @param waiting confirmed money that names the order and waits for a person.
 */
export function decideManualClose(
  order: LockedOrder,
  attemptsAreClosed: boolean,
  waiting: MoneyRefusal['payments'] = [],
): ManualCloseDecision {
  if (order.status === 'CLOSED') return { type: 'already-closed' };
  if (!isUndecided(order.status)) return refuse({ code: 'ORDER_NOT_CLOSABLE', status: order.status });
  const decision = decideWithoutOpenAttempts(order, 'keep');
  if (decision.type !== 'close' || waiting.length > 0) return refuse(refuseMoney(order, waiting));
  const open = order.attempts.filter(canTakeMoney);
  if (open.length > 0 && !attemptsAreClosed) return { type: 'look-up' };
  return { type: 'close', to: decision.to, declared: open };
}

function refuse(refusal: ManualCloseRefusal): ManualCloseDecision {
  return { type: 'refuse', refusal };
}

/** Pure: returns the order with these attempts closed. They stay under watch, because the declaration may be wrong. */
export function declareClosed(order: LockedOrder, declared: readonly PaymentAttempt[]): LockedOrder {
  const attempts = order.attempts.map((attempt) =>
    declared.includes(attempt) ? withStatus(attempt, 'CLOSED') : attempt,
  );
  return { ...order, attempts };
}
