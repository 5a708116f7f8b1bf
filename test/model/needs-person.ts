import { PAYMENT_REFUND } from '../../src/orders/model/order-timeouts';
import { isSameAttempt, type PaymentAttempt } from '../../src/orders/model/order';
import { isFailure } from './refund-handler';
import { type Shop } from './shop';
import { type TimeoutRow } from './timeout-table';

const HOUR_MS = 3_600_000;

/** Whether this order is paid in part, and the policy, or doubt about that payment, leaves it to a person for good. */
export function needsPerson(shop: Shop, orderId: string): boolean {
  const { policy, world } = shop;
  const { store } = world;
  const order = store.all().find(({ id }) => id === orderId);
  const isParked = policy.partialPayment === 'park' && order?.closingReason !== 'cancelled';
  const isPart = ({ status, registered, paidSource }: PaymentAttempt): boolean =>
    status === 'PAID' && (isParked || !registered || paidSource !== 'provider');
  const isClaimed = (attempt: PaymentAttempt): boolean =>
    attempt.status === 'PAID' && (shop.liars.size > 0 || store.bookedElsewhere(orderId, attempt).length > 0);
  const isUnclear = (attempt: PaymentAttempt): boolean => isPart(attempt) || isClaimed(attempt);
  // Until a person has settled it, what the provider has stated without an amount may be the rest.
  const odd = store.unmatched.open().filter(({ reason }) => reason === 'invalid-amount');
  const isOdd = (attempt: PaymentAttempt): boolean => odd.some((row) => isSameAttempt(attempt, row));
  return order?.attempts.some((attempt) => isUnclear(attempt) || isOdd(attempt)) ?? false;
}

/** Whether this refund has come back from the bank, and a person is told. */
export function isFailedRefund({ world: { store } }: Shop, { kind, key }: TimeoutRow): boolean {
  const refund = kind === PAYMENT_REFUND ? store.refunds.get(key) : undefined;
  return refund !== undefined && store.unmatched.open().some((row) => isFailure(row, refund));
}

/** Whether this timeout had to be parked, so that an operator's replay is part of the plan. */
export function isParkedForReason(shop: Shop, { kind, key }: TimeoutRow): boolean {
  const traits = shop.plan.providers;
  if (traits.some(({ outages }) => outages.some(({ fromMs, toMs }) => toMs - fromMs > 12 * HOUR_MS))) return true;
  if (kind === PAYMENT_REFUND) return traits.some((one) => one.refundsFromMs > 0 || one.failingRefunds > 0);
  // Without a limit at the provider, a payment that it does not know yet may come forever.
  const isLimitless = ({ timeExpire, status }: PaymentAttempt): boolean => timeExpire === null && status !== 'CLOSED';
  return (
    needsPerson(shop, key) ||
    shop.world.store.all().some(({ id, attempts }) => id === key && attempts.some(isLimitless))
  );
}
