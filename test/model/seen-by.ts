import { type LockedOrder } from '../../src/orders/model/order';
import { type World } from './world';

/**
 * An order as a transaction sees it that has just got its lock. Ours sees what was committed before; a weaker one sees what
 * was there when it began, if the order's own row is the same: undefined where it is not, a serialization failure.
 */
export function seenBy({ store, agenda, random, wiring }: World, orderId: string): LockedOrder | undefined {
  if (wiring.sees === 'committed') return store.lock(orderId);
  return store.asOf(orderId, agenda.nowMs - random.between(0, 200));
}

/** The attempts that the rule for closing sees beside what this transaction has written; undefined: what is there. */
export function ruleSees({ wiring }: World, order: LockedOrder): LockedOrder | undefined {
  if (wiring.sees === 'committed') return undefined;
  const attempts = order.attempts.map((one) =>
    one.status === 'PAID' ? { ...one, status: 'REFUNDING' as const } : one,
  );
  return { ...order, attempts };
}
