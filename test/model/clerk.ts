import { isDue } from '../../src/orders/model/plan-closing';
import {
  type LockedOrder,
  isSameRow,
  isSettledReport,
  isUndecided,
  type PaymentAttempt,
  withStatus,
} from '../../src/orders/model/order';
import { paymentTimeout, refundTimeout } from '../../src/orders/model/order-timeouts';
import { bookMoney } from '../../src/orders/model/money';
import { isMisreported } from '../../src/orders/model/decide-claim';
import { HELD_MONEY_REASONS, type Refund } from '../../src/orders/model/unmatched-money';
import { moneyOf } from '../../src/orders/pay/mark-paid';
import { decideAssignment } from '../../src/orders/operator/assign-unmatched';
import { heldAttempt, outlivesRow } from '../../src/orders/operator/settle-unmatched';
import { hasTooLittle } from '../../src/orders/unmatched/note-unmatched-money';
import { isOpen, reportOf } from '../../src/orders/unmatched/unmatched-payment';
import { bookPayment } from './book-payment';
import { isItsFailure } from './check-units';
import { isFailure } from './refund-handler';
import { isPaidFor, lockAtDesk } from './lock-at-desk';
import { workOffMoney } from './operator';
import { type ProviderPayment, type Unit } from './provider-payment';
import { type Shop } from './shop';
import { isNeeded, isReturning, paymentOf, unitOf, unitSeen } from './truth';
import { type UnmatchedRow } from './unmatched-table';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const BY = { cause: 'operator' } as const;

/** People who work off the list of unmatched payments: they assign what has an order, and pay back the rest by wire. */
export function sendClerk(shop: Shop, orderId: string): void {
  const { agenda, random, store } = shop.world;
  if (!shop.plan.clerks) return;
  const deadlineMs = store.lock(orderId).expiresAt.getTime();
  for (let acts = shop.plan.eager ? 12 : 0; acts > 0; acts--) {
    agenda.after(random.between(0, 2 * shop.plan.windowMs), () => workOffRow(shop));
  }
  for (let acts = random.between(1, 4); acts > 0; acts--) {
    const lateMs = random.pick([2, random.between(-2 * MINUTE, 10 * MINUTE)], [3, random.between(0, 40 * HOUR)]);
    agenda.at(deadlineMs + lateMs, () => workOffRow(shop));
  }
}

function workOffRow(shop: Shop): void {
  const { random, store } = shop.world;
  const open = store.unmatched.open();
  const row = open[random.between(0, open.length - 1)];
  if (!row) return;
  const payment = paymentOf(shop, row);
  const isWithoutOrder = row.reason === 'unknown-order' || row.reason === 'attempt-mismatch';
  // The clerk sees in the provider's console whether the money is there, and in which currency.
  const { held, currency } = unitOf(shop, row) ?? {};
  const isThere = held === BigInt(row.amount) && currency === row.currency;
  if (payment && isThere && isWithoutOrder && store.has(payment.owner) && random.chance(0.5))
    assign(shop, row, payment);
  else settle(shop, row);
}

/** src/orders/operator/assign-unmatched.ts. */
function assign(shop: Shop, { id }: UnmatchedRow, payment: ProviderPayment): void {
  const { world, late } = shop;
  const { store, agenda, trace } = world;
  const order = lockAtDesk(world, payment.owner);
  const row = store.unmatched.find(id);
  if (!row) return;
  const stated = moneyOf(reportOf(row, order.id), row.merchantAccount, row.source, agenda.now);
  const { money } = bookMoney(order, { ...stated, isAssigned: true });
  const same = store.samePayments(money, order.id);
  const decision = decideAssignment(order, row, money, same);
  trace.note(() => `clerk assigns ${row.reference} (${row.reason}) to ${order.id} -> ${decision.type}`);
  if (decision.type !== 'assign') return;
  shop.assign(payment, order.id);
  const claims = same.attempts.filter((one) => one.orderId !== order.id && isMisreported(one, money));
  for (const claim of claims) giveUp(shop, claim);
  const told = store.twins(row).filter(({ orderId }) => orderId === order.id);
  for (const one of [row, ...told]) store.resolveUnmatched(one, 'adopted');
  store.amend(order.id, {});
  bookPayment(world, late, money, { orderId: order.id, by: BY });
  late.claims.contest(claims);
  for (const { orderId } of claims) if (!isUndecided(store.lock(orderId).status)) late.settle(orderId, BY, {});
}

/** The order that had it by a report alone may end without it. */
function giveUp({ world: { store, engine, agenda } }: Shop, claim: PaymentAttempt): void {
  const { id, status } = store.lock(claim.orderId);
  store.removeAttempt(claim);
  store.amend(id, {});
  const isHeld = ({ reason }: UnmatchedRow): boolean => HELD_MONEY_REASONS.some((one) => one === reason);
  store.unmatched.handle((row) => isSameRow(claim, row) && isOpen(row) && isHeld(row), 'adopted');
  if (isUndecided(status)) engine.schedule(paymentTimeout(id), agenda.now);
}

/**
 * src/orders/operator/settle-unmatched.ts: the clerk looks at the provider's console and at the orders, pays back by
 * wire what is there and what no order needs, and says so.
 */
function settle(shop: Shop, row: UnmatchedRow): void {
  const { store, trace } = shop.world;
  const units = unitsSeen(shop, row);
  const [unit] = units;
  // Whose money it is, the order will show, or has shown. A report may name the payment by the provider's own id, or call
  // its reference a transaction. The provider's console shows its merchant reference too, and the service cannot know that
  // before the provider says so.
  const isAsked = row.reason === 'attempt-mismatch' || row.reason === 'invalid-amount';
  const own = row.transactionId ?? row.reference;
  const names = [row.reference, own, paymentOf(shop, row)?.traits.reference ?? own];
  if (isAsked && unit && names.some((reference) => store.ownerOf({ ...row, reference }) !== undefined)) return;
  if (takeBack(shop, row)) return;
  if (units.some((one) => isNeeded(shop, one))) return;
  if (row.reason !== 'refund-failed' && units.some((one) => isReturning(shop, one))) return;
  // The console shows that the provider has taken the refund on after all.
  const failed = [...store.refunds.values()].find((one) => isFailure(row, one));
  if (failed && (isAskedFor(shop, failed) || shop.world.providerOf(row).isRefunding(failed.number))) return;
  const wired = units.reduce((sum, { held }) => sum + held, 0n);
  trace.note(() => `clerk settles ${row.reference} (${row.reason}, ${row.handling}), ${wired} by wire`);
  for (const one of units) one.paidBack += one.held;
  const order = row.orderId !== null && store.has(row.orderId) ? store.lock(row.orderId) : undefined;
  for (const one of [row, ...store.twins(row)]) {
    store.resolveUnmatched(one, 'settled');
    if (outlivesRow(one, order)) store.handled.rememberSettled(one);
  }
  endRefund(shop, row);
  if (row.orderId !== null && store.has(row.orderId)) markSettled(shop, row, store.amend(row.orderId, {}));
  forget(shop, row);
}

/**
 * What the console shows under the names of the row. If its order was erased, the row does not say of which payment the
 * refund has failed; the console does, and it may be that of several.
 */
function unitsSeen(shop: Shop, row: UnmatchedRow): Unit[] {
  const failed = paymentOf(shop, row)?.units.filter((unit) => isItsFailure(shop, row, unit)) ?? [];
  const seen = unitSeen(shop, row);
  return failed.length > 0 ? failed : seen ? [seen] : [];
}

/**
 * `reopen` of src/orders/operator/settle-unmatched.ts. A person had settled a false report, and the provider has confirmed a
 * payment for the attempt since. The clerk sees that the PAID order has too little without it, and that nobody has paid it
 * back: nobody else could know that the order needs it.
 */
function takeBack(shop: Shop, row: UnmatchedRow): boolean {
  const { store, trace } = shop.world;
  const order = row.orderId !== null && store.has(row.orderId) ? store.lock(row.orderId) : undefined;
  const held = order && hasTooLittle(order) ? heldAttempt(order, row, 'SETTLED') : undefined;
  const isOwn = held?.registered === true && held.paidSource === 'provider' && held.paidCurrency === order?.currency;
  if (!held || !isOwn || unitSeen(shop, row)?.held !== held.paidAmount) return false;
  trace.note(() => `clerk reopens ${row.reference} (${row.reason}), which ${held.orderId} needs`);
  store.unmatched.reopen([row, ...store.twins(row, 'settled')]);
  store.putAttempt(withStatus(held, 'PAID'));
  store.amend(held.orderId, {});
  return true;
}

/** The row cannot be settled while the provider is asked for the refund. */
function isAskedFor({ world: { engine, agenda } }: Shop, { number }: Refund): boolean {
  const row = engine.table.find(refundTimeout(number));
  return row !== undefined && row.lease !== null && row.nextAttemptAt > agenda.nowMs;
}

function markSettled(
  { world: { store, engine, agenda, wiring }, late }: Shop,
  row: UnmatchedRow,
  order: LockedOrder,
): void {
  const held = heldAttempt(order, row, 'PAID');
  if (held && wiring.settles) {
    const settled = withStatus(held, 'SETTLED');
    store.putAttempt(settled);
    if (isSettledReport(settled) && wiring.tellsOfSettled) late.watch(order.id);
  }
  const after = store.lock(order.id);
  if (isDue(after, agenda.now) || isPaidFor(after)) engine.schedule(paymentTimeout(order.id), agenda.now);
}

/** What a person has paid back, nobody else may. */
function endRefund({ world: { store, engine, agenda } }: Shop, row: UnmatchedRow): void {
  const refund = [...store.refunds.values()].find((one) => isFailure(row, one) && one.status === 'PENDING');
  if (!refund) return;
  Object.assign(refund, { status: 'REFUNDED', isPaidBack: true });
  engine.schedule(refundTimeout(refund.number), agenda.now);
}

/** The others do not know of it: the shop repeats its report, and another operator works on the order. */
function forget(shop: Shop, row: UnmatchedRow): void {
  const { world, late } = shop;
  const { agenda, random, store } = world;
  const payment = paymentOf(shop, row);
  const unit = unitOf(shop, row);
  // Also after the row is purged.
  const untilMs = shop.plan.forgets ? 120 * HOUR : 40 * HOUR;
  const laterMs = random.pick([1, random.between(1_000, HOUR)], [1, random.between(HOUR, untilMs)]);
  if (payment && unit && random.chance(0.4)) {
    agenda.after(laterMs, () => {
      const { amount, currency } = unit;
      // Its books may have another number for it.
      const transactionId = laterMs % 3 < 1 ? `books-${unit.transactionId}` : unit.transactionId;
      const told = { ...row, amount, currency, transactionId, paidAt: agenda.now, source: 'report' as const };
      world.trace.note(() => `the shop repeats its report of ${row.reference} for ${payment.owner}`);
      bookPayment(world, late, told, { orderId: payment.owner, by: { cause: 'api' } });
    });
  }
  if (payment && random.chance(0.4)) {
    agenda.after(random.between(1_000, untilMs), () => {
      if (store.has(payment.owner)) workOffMoney(shop, payment.owner);
    });
  }
}
