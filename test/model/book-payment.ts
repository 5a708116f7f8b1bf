import { decidePayment, withPaid } from '../../src/orders/decide-payment';
import { paymentTimeout } from '../../src/orders/order-timeouts';
import { canTakeMoney, isBooked } from '../../src/orders/payment-attempt';
import { transition } from '../../src/orders/transition';
import { type ActionContext } from '../../src/orders/transition-cause';
import { type PaidOutcome } from '../../src/payments';
import { type LatePath } from './late-path';
import { lockAtDesk } from './lock-at-desk';
import { paidAttempt } from './model-store';
import { type World } from './world';

/** src/orders/mark-paid.ts for a payment that the provider, or a person, reports of an attempt. */
export function bookPayment(
  world: World,
  late: LatePath,
  key: { readonly provider: string; readonly reference: string },
  money: PaidOutcome,
  by: ActionContext,
): void {
  const { store, agenda, random, trace } = world;
  const known = store.findAttempt(key);
  if (!known) {
    trace.note(() => `${by.cause}: ${key.reference} is paid, which nobody has registered`);
    // A transaction of its own: meanwhile the attempt may come in.
    return agenda.after(random.between(0, 20), () => store.keepUnclaimed(key, money));
  }
  const { amount, currency } = money;
  const paid = paidAttempt(known, money);
  const order = lockAtDesk(world, known.orderId);
  if (!isBooked(known)) store.putPaid(paid);
  const decision = decidePayment(order, paid);
  trace.note(() => `${by.cause}: ${key.reference} is paid, ${order.id} is ${order.status} -> ${decision.type}`);
  switch (decision.type) {
    case 'pay':
      return pay(world, late, withPaid(order, paid), by);
    case 'insufficient':
      return store.keepUnexpected([
        {
          orderId: order.id,
          ...key,
          amount,
          currency,
          reason: decision.reason,
          handling: world.policy.partialPayment === 'park' ? 'kept' : 'waiting',
          evidence: {},
          now: agenda.now,
        },
      ]);
    case 'already-paid':
      return;
    case 'surplus':
    case 'late':
      return late.settle(order.id, by);
  }
}

function pay({ store, engine, agenda, trace }: World, late: LatePath, after: PaidOrder, by: ActionContext): void {
  const timeout = paymentTimeout(after.id);
  const stillOpen = after.attempts.some(canTakeMoney);
  if (stillOpen) engine.schedule(timeout, agenda.now);
  else engine.cancel(timeout);
  const order = store.lock(after.id);
  if (!store.apply(transition(order, 'PAID', { by, now: agenda.now }))) throw new Error(`${order.id} changed`);
  trace.note(() => `order ${order.id}: ${order.status} -> PAID`);
  late.settle(order.id, by);
  if (!stillOpen) late.watch(order.id);
}

type PaidOrder = ReturnType<typeof withPaid>;
