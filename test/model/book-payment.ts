import { bookMoney, type Money } from '../../src/orders/pay/book-money';
import { decideClaim } from '../../src/orders/pay/claim-payment';
import { decidePayment } from '../../src/orders/pay/decide-payment';
import { type LockedOrder } from '../../src/orders/order';
import { paymentTimeout } from '../../src/orders/order-timeouts';
import { type UnmatchedReason } from '../../src/orders/unmatched/unmatched-money';
import { canTakeMoney, type PaymentAttempt } from '../../src/orders/payment-attempt';
import { transition } from '../../src/orders/transition';
import { type ActionContext } from '../../src/orders/transition-cause';
import { type LatePath } from './late-path';
import { lockAtDesk } from './lock-at-desk';
import { type World } from './world';

interface Booked {
  readonly orderId: string;
  readonly by: ActionContext;
  /** The providers were asked just now. */
  readonly verified?: boolean;
  readonly handlesUnmatchedLater?: boolean;
}

/** src/orders/pay/handle-webhook.ts: finds the order of a payment that a provider tells of. */
export function bookNotified(world: World, late: LatePath, told: Money, by: ActionContext): void {
  const { store, agenda, random, trace } = world;
  const known = store.findAttempt(told);
  if (known) return bookPayment(world, late, told, { orderId: known.orderId, by });
  trace.note(() => `${by.cause}: ${told.reference} is paid, which nobody has registered`);
  // A transaction of its own, and then a second look: meanwhile the attempt may come in.
  agenda.after(random.between(0, 20), () => {
    store.keepAdoptable(world.wiring.believes(told));
    const registered = store.findAttempt(told);
    if (registered) bookPayment(world, late, told, { orderId: registered.orderId, by });
  });
}

/** src/orders/pay/mark-paid.ts for a payment that the provider, the shop, or a person tells of an order. */
export function bookPayment(world: World, late: LatePath, told: Money, booked: Booked): void {
  const { store, trace, wiring } = world;
  const { orderId, by, verified = false, handlesUnmatchedLater = false } = booked;
  const order = lockAtDesk(world, orderId);
  const money = accountedFor(world, order, wiring.believes(told));
  if (!isOurs(world, order, money)) return keep(world, order, money, 'attempt-mismatch');
  const booking = bookMoney(order, money);
  store.putAttempts(booking.after);
  if (booking.released.length > 0) late.watch(order.id);
  if (booking.isDisputed) keep(world, order, money, 'attempt-mismatch');
  const decision = decidePayment(booking);
  trace.note(() => `${by.cause}: ${told.reference} is paid, ${order.id} is ${order.status} -> ${decision.type}`);
  switch (decision.type) {
    case 'pay':
      return pay(world, late, store.lock(order.id), booked);
    case 'insufficient':
      if (order.status === 'CLOSING' && money.source === 'provider')
        world.engine.schedule(paymentTimeout(order.id), world.agenda.now);
      return keep(world, order, money, decision.reason);
    case 'already-paid':
    case 'surplus':
    case 'late':
      return handlesUnmatchedLater ? undefined : late.settle(order.id, by, { verified });
  }
}

/** A variant that knows no accounts books on whichever attempt has the number. */
function accountedFor({ wiring }: World, { attempts }: LockedOrder, money: Money): Money {
  if (wiring.knowsAccounts) return money;
  const known = attempts.find(({ reference }) => reference === money.reference);
  return known ? { ...money, merchantAccount: known.merchantAccount } : money;
}

function isOurs(world: World, order: LockedOrder, money: Money): boolean {
  const others = world.store.bookedElsewhere(order.id, money);
  const decision = decideClaim(order, money, others, bookMoney(order, money).wasBooked);
  if (decision === 'disputed') keep(world, order, money, 'attempt-mismatch');
  return decision !== 'refused';
}

function keep({ store, agenda, policy }: World, order: LockedOrder, money: Money, reason: UnmatchedReason): void {
  const { provider, reference, merchantAccount, amount, currency, transactionId, source } = money;
  const isPart = reason === 'amount-mismatch' || reason === 'currency-mismatch';
  const isUndecided = order.status === 'PENDING' || order.status === 'CLOSING';
  const waits = isPart && isUndecided && order.autoClose && policy.partialPayment !== 'park';
  const what = { provider, reference, merchantAccount, amount, currency, transactionId, source };
  const handling = waits ? 'waiting' : 'kept';
  store.keepUnmatched([{ ...what, orderId: order.id, reason, handling, evidence: {}, now: agenda.now }]);
}

function pay(world: World, late: LatePath, after: LockedOrder, booked: Booked): void {
  const { by, verified = false, handlesUnmatchedLater = false } = booked;
  const { store, engine, agenda, trace } = world;
  const timeout = paymentTimeout(after.id);
  const stillOpen = after.attempts.some(canTakeMoney);
  if (stillOpen) engine.schedule(timeout, agenda.now);
  else engine.cancel(timeout);
  if (!store.apply(transition(after, 'PAID', { by, now: agenda.now }))) throw new Error(`${after.id} changed`);
  trace.note(() => `order ${after.id}: ${after.status} -> PAID`);
  if (!handlesUnmatchedLater) late.settle(after.id, by, { verified });
  if (!stillOpen) late.watch(after.id);
}

/** The payment of an attempt, in the words of its provider. */
export function moneyOf(
  { provider, reference, merchantAccount }: Pick<PaymentAttempt, 'provider' | 'reference' | 'merchantAccount'>,
  { amount, currency, paidAt, transactionId }: Pick<Money, 'amount' | 'currency' | 'paidAt' | 'transactionId'>,
  source: Money['source'] = 'provider',
): Money {
  return { provider, reference, merchantAccount, amount, currency, paidAt, transactionId, source };
}
