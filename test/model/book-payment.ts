import { bookMoney, type Money } from '../../src/orders/model/money';
import { decidePayment } from '../../src/orders/pay/mark-paid';
import { isAnyones, othersWith, toldAs, vouchedBy, vouchedByBoth } from '../../src/orders/model/decide-claim';
import { isLinkedByReport } from '../../src/orders/pay/handle-notification';
import {
  type LockedOrder,
  accountOfAttempt,
  canTakeMoney,
  isOtherPayment,
  type PaymentAttempt,
  type PaymentNames,
} from '../../src/orders/model/order';
import { paymentTimeout, reconcileTimeout } from '../../src/orders/model/order-timeouts';
import {
  type UnmatchedHandling,
  type UnmatchedMoney,
  type UnmatchedReason,
} from '../../src/orders/model/unmatched-money';
import { handlingOfPart } from '../../src/orders/model/plan-closing';
import { transition, type ActionContext } from '../../src/orders/model/transition';
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

/** src/orders/pay/handle-notification.ts: finds the order of a payment that a provider tells of. */
export function bookNotified(world: World, late: LatePath, told: Money, by: ActionContext): void {
  const { store, engine, agenda, random, trace } = world;
  if (confirm(world, late, told, by)) return;
  trace.note(() => `${by.cause}: ${told.reference} is paid, which nobody has registered`);
  // Transactions of their own: before each of them the attempt may come in.
  agenda.after(random.between(0, 20), () => {
    store.keepUnmatched([unmatchedMoney(world, world.wiring.believes(told), null, 'unknown-order', 'kept')]);
    agenda.after(random.between(0, 20), () => {
      if (confirm(world, late, told, by)) return;
      // Only the attempt's own look-up tells whether the report that links them is true.
      const claim = findNotified(world, told);
      if (claim) engine.schedule(reconcileTimeout(claim.orderId), agenda.now);
    });
  });
}

function confirm(world: World, late: LatePath, told: Money, by: ActionContext): boolean {
  const known = findNotified(world, told);
  if (!known || (world.wiring.asksAboutClaims && isLinkedByReport(known, told))) return false;
  const merchantAccount = told.merchantAccount ?? accountOfAttempt(known);
  bookPayment(world, late, { ...told, merchantAccount }, { orderId: known.orderId, by });
  return true;
}

/** A process without the provider may have registered the attempt without its default account. */
export function findNotified({ store, processes }: World, told: PaymentNames): PaymentAttempt | undefined {
  const found = store.findAttempt(told);
  if (found || processes.knowledge === 'all' || told.merchantAccount === null) return found;
  return store.findAttempt({ ...told, merchantAccount: null });
}

function unmatchedMoney(
  { agenda }: World,
  money: Money,
  orderId: string | null,
  reason: UnmatchedReason,
  handling: UnmatchedHandling,
): UnmatchedMoney {
  const { provider, reference, merchantAccount, amount, currency, transactionId, source, paidAt } = money;
  const evidence = { paidAt: paidAt.toISOString() };
  const what = { provider, reference, merchantAccount, amount, currency, transactionId, source, evidence };
  return { ...what, orderId, reason, handling, now: agenda.now };
}

/** src/orders/pay/mark-paid.ts for a payment that the provider, the shop, or a person tells of an order. */
export function bookPayment(world: World, late: LatePath, told: Money, booked: Booked): void {
  const { store, wiring } = world;
  const { orderId } = booked;
  if (!store.has(orderId)) {
    const money = wiring.believes(told);
    const same = store.samePayments(money, orderId);
    const reason = othersWith({ id: orderId }, money, same).length > 0 ? 'attempt-mismatch' : 'unknown-order';
    const { reference } = toldAs(money, same.unowned) ?? money;
    return store.keepUnmatched([unmatchedMoney(world, { ...money, reference }, orderId, reason, 'kept')]);
  }
  const order = lockAtDesk(world, orderId);
  take(world, late, order, renamed(world, order, accountedFor(world, order, wiring.believes(told))), booked);
}

/** What the provider has vouched for is taken by its own names. */
function take(world: World, late: LatePath, order: LockedOrder, told: Money, booked: Booked): void {
  const { store } = world;
  const first = bookMoney(order, told);
  const { money } = first;
  const mismatched = (): void => keep(world, order, money, 'attempt-mismatch');
  const found = store.samePayments(money, order.id);
  const same = first.holder.status === 'SETTLED' ? { ...found, unowned: [] } : found;
  const own = vouchedByBoth(order, money, same);
  if (own) return take(world, late, order, own, booked);
  const claim = late.claims.take(order, money, first, same, (reason) => keep(world, order, money, reason));
  if (claim === 'repeated') return;
  if (claim === 'refused' && isAnyones(order, money))
    return store.keepUnmatched([unmatchedMoney(world, told, null, 'unknown-order', 'kept')]);
  if (claim === 'refused') return mismatched();
  const vouched = claim === 'ours' ? vouchedBy(order, money, same) : undefined;
  if (vouched) return take(world, late, order, vouched, booked);
  book(world, late, order, { ...money, isSettled: claim === 'settled' }, booked);
}

/** The payment belongs to the order. */
function book(world: World, late: LatePath, order: LockedOrder, money: Money, booked: Booked): void {
  const { store, trace } = world;
  const { by, verified = false, handlesUnmatchedLater = false } = booked;
  const booking = bookMoney(order, money);
  store.putAttempts(booking.after);
  if (booking.released.length > 0) late.watch(order.id);
  if (booking.isDisputed) keep(world, order, money, 'attempt-mismatch');
  const decision = decidePayment(booking);
  trace.note(() => `${by.cause}: ${money.reference} is paid, ${order.id} is ${order.status} -> ${decision.type}`);
  switch (decision.type) {
    case 'pay':
      return pay(world, late, store.lock(order.id), booked);
    case 'insufficient':
      if (order.status === 'CLOSING' && money.source === 'provider')
        world.engine.schedule(paymentTimeout(order.id), world.agenda.now);
      // Money that is settled, or goes back, is no part of the price.
      if (booking.holder.status !== 'PAID') return;
      return keep(world, order, { ...money, ...heldBy(booking.holder, money) }, decision.reason);
    case 'already-paid':
    case 'surplus':
    case 'rest':
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

function keep(world: World, order: LockedOrder, money: Money, reason: UnmatchedReason): void {
  const isPart = reason === 'amount-mismatch' || reason === 'currency-mismatch';
  const handling = isPart ? handlingOfPart(order, world.policy.partialPayment) : 'kept';
  world.store.keepUnmatched([unmatchedMoney(world, money, order.id, reason, handling)]);
}

/**
 * A variant that folds payments believes that the reference has its first payment only; another one that whatever id a
 * report has is one of the provider's.
 */
function renamed({ wiring }: World, { attempts }: LockedOrder, money: Money): Money {
  const held = attempts.find((attempt) => isOtherPayment(attempt, money));
  if (!held || money.transactionId === null) return money;
  if (!wiring.distinguishes) return { ...money, transactionId: held.transactionId };
  const isDoubted = wiring.doubtsIds || money.source === 'provider';
  return isDoubted ? money : { ...money, reference: money.transactionId, secondOf: money.reference };
}

function heldBy(holder: PaymentAttempt, money: Money): Omit<Money, 'paidAt' | 'source'> {
  const { provider, reference, merchantAccount, transactionId, paidAmount, paidCurrency } = holder;
  const names = { provider, reference, merchantAccount, transactionId };
  return { ...names, amount: paidAmount ?? money.amount, currency: paidCurrency ?? money.currency };
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
