import { deadlineTimeouts, paymentTimeout, ORDER_LATE_WATCH } from '../../src/orders/model/order-timeouts';
import { readQuery } from '../../src/orders/lookup/payment-lookups';
import { refundsOfCancellation } from '../../src/orders/model/plan-closing';
import { type LockedOrder, isUndecided, canTakeMoney } from '../../src/orders/model/order';
import { transition } from '../../src/orders/model/transition';
import { bookPayment, moneyOf } from './book-payment';
import { type LatePath } from './late-path';
import { lockAtDesk } from './lock-at-desk';
import { ruleSees, seenBy } from './seen-by';
import { type Shop } from './shop';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Everybody who looks at an order, or lays hands on it, around its deadline. */
export function sendPeople(shop: Shop, orderId: string): void {
  const { agenda, random, store, engine } = shop.world;
  const deadlineMs = store.lock(orderId).expiresAt.getTime();
  const around = (fromMs: number, toMs: number, act: () => void): void =>
    agenda.at(deadlineMs + random.between(fromMs, toMs), act);
  if (random.chance(0.12)) around(-MINUTE, 10 * SECOND, () => cancel(shop, orderId));
  if (random.chance(0.08)) around(-30 * SECOND, 2 * SECOND, () => extend(shop, orderId));
  if (random.chance(0.1)) around(-20 * SECOND, MINUTE, () => checkPayment(shop, orderId));
  if (random.chance(0.05)) around(-20 * SECOND, 60 * MINUTE, () => markPaid(shop, orderId));
  for (let looks = random.pick([3, 0], [1, 1], [1, 3]); looks > 0; looks--) {
    around(-2 * SECOND, MINUTE, () => engine.wake(paymentTimeout(orderId), 'passive'));
  }
  // A provider's notification: the state of a payment has changed.
  if (random.chance(0.1)) around(0, 5 * MINUTE, () => engine.wake({ kind: ORDER_LATE_WATCH, key: orderId }, 'passive'));
}

/** src/orders/close/cancel-order.ts. */
export function cancel({ world, late }: Pick<Shop, 'world' | 'late'>, orderId: string): void {
  const { store, engine, agenda, trace } = world;
  lockAtDesk(world, orderId);
  const order = seenBy(world, orderId);
  if (!order) return agenda.after(10, () => cancel({ world, late }, orderId));
  if (needsPerson(late, order)) return;
  if (order.status === 'CLOSING' && order.closingReason !== 'cancelled') {
    trace.note(() => `operator cancels ${orderId}, which is CLOSING`);
    store.amend(orderId, { closingReason: 'cancelled' });
    engine.schedule(paymentTimeout(orderId), agenda.now);
  }
  if (order.status !== 'PENDING') return;
  const isClear = order.attempts.every(({ status }) => status === 'CLOSED' || status === 'DUPLICATE');
  if (isClear) engine.cancel(paymentTimeout(orderId));
  else engine.schedule(paymentTimeout(orderId), agenda.now);
  const by = { cause: 'operator' as const };
  store.apply(
    transition(order, isClear ? 'CANCELLED' : 'CLOSING', { by, now: agenda.now, closingReason: 'cancelled' }),
    ruleSees(world, order),
  );
  trace.note(() => `operator cancels ${orderId}: ${isClear ? 'CANCELLED' : 'CLOSING'}`);
  if (isClear) late.watch(orderId);
}

function needsPerson(late: LatePath, order: LockedOrder): boolean {
  if (isUndecided(order.status) && late.claims.confirmedOf(order).length > 0) return true;
  const returns = isUndecided(order.status) ? refundsOfCancellation(order) : [];
  return !returns || late.claims.disputed(returns).length > 0;
}

/** src/orders/deadline/deadline.ts. */
function extend({ world }: Shop, orderId: string): void {
  const { store, engine, agenda, random, trace } = world;
  const order = lockAtDesk(world, orderId);
  if (order.status !== 'PENDING') return;
  const byMs = random.pick([1, -random.between(0, 20 * SECOND)], [3, random.between(0, 10 * MINUTE)]);
  const moved = store.amend(orderId, { expiresAt: new Date(order.expiresAt.getTime() + byMs) });
  for (const { dueAt = moved.expiresAt, ...ref } of deadlineTimeouts(moved, agenda.now)) engine.schedule(ref, dueAt);
  trace.note(() => `operator moves the deadline of ${orderId} by ${byMs} ms`);
}

/** src/orders/pay/reconcile-payments.ts: the buyer comes back to the shop. */
function checkPayment({ world, late }: Shop, orderId: string): void {
  const { now } = world.agenda;
  for (const attempt of world.store.lock(orderId).attempts.filter(canTakeMoney)) {
    world.providerOf(attempt).query(attempt.reference, (answer) => {
      const found = readQuery(attempt, answer, now);
      if (found?.type !== 'PAID') return;
      world.providerOf(attempt).hear(attempt.reference);
      bookPayment(world, late, moneyOf(attempt, found), { orderId, by: { cause: 'api' } });
    });
  }
}

/** An operator sees the money in the provider's console and books it. */
function markPaid({ world, late }: Shop, orderId: string): void {
  for (const attempt of world.store.lock(orderId).attempts) {
    const payment = world.providerOf(attempt).find(attempt.reference);
    if (!payment?.taken) continue;
    const told = moneyOf(attempt, payment.paidOutcome(), 'report');
    bookPayment(world, late, told, { orderId, by: { cause: 'operator' } });
  }
}
