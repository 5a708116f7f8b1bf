import { type AttemptKey } from '../../src/orders/model/order';
import { type PaidOutcome } from '../../src/payments';
import { accountOf } from '../../src/orders/model/new-order';
import {
  paymentTimeout,
  refundTimeout,
  reconcileTimeout,
  ORDER_LATE_WATCH,
} from '../../src/orders/model/order-timeouts';
import { type Money } from '../../src/orders/model/money';
import { isLinkedByReport, refundedOf } from '../../src/orders/pay/handle-notification';
import { LIMITS } from '../../src/orders/model/order-policies';
import { bookNotified, findNotified, moneyOf } from './book-payment';
import { type ProviderPayment } from './provider-payment';
import { type Shop } from './shop';
import { unitOf } from './truth';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DELAYS_MS = [
  0,
  15 * SECOND,
  30 * SECOND,
  3 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
  24 * HOUR,
];

/**
 * Posts "paid" as providers do: until it is acknowledged, some of it late, twice, or never; in some runs without the
 * amount, and so that it only says that something has changed.
 */
export function notify(shop: Shop, key: AttemptKey, paid: PaidOutcome, round = 0): void {
  const { agenda, random } = shop.world;
  const delayMs = DELAYS_MS[round];
  if (delayMs === undefined) return;
  const travelMs = random.pick([8, random.between(20, 800)], [2, random.between(800, 2 * MINUTE)]);
  agenda.after(delayMs + travelMs, () => {
    const isLost = random.chance(shop.plan.notifyLoss);
    const isWritten = !isLost && random.chance(0.97);
    const isTaken = isWritten && deliver(shop, key, paid);
    if (!isTaken || random.chance(0.15)) notify(shop, key, paid, round + 1);
  });
}

/** False: not acknowledged, so the provider sends it again. */
export function deliver(shop: Shop, key: AttemptKey, paid: PaidOutcome): boolean {
  const { world, late, processes } = shop;
  const merchantAccount =
    processes.knowledge === 'all' ? key.merchantAccount : accountOf({ provider: key.provider }, processes.reading());
  const money = moneyOf({ ...key, merchantAccount }, paid);
  if (shop.plan.changeOnly) {
    // What has changed is looked up, and the answer is the first payment of the reference.
    if (look(shop, money) && isFirst(shop, key, paid)) hear(shop, key, paid);
    return true;
  }
  hear(shop, key, paid);
  if (world.wiring.checksAmounts && !isBookable(money)) {
    refuse(shop, money);
    return true;
  }
  bookNotified(world, late, money, { cause: 'notify' });
  return true;
}

/** src/orders/pay/handle-notification.ts: what is not money is told to a person, and its attempt is looked up. */
function refuse({ world: { store, engine, agenda }, world }: Shop, told: Money): void {
  const found = findNotified(world, told);
  const known = found && isLinkedByReport(found, told) ? undefined : found;
  const { provider, reference, merchantAccount, transactionId, source } = told;
  const what = { provider, reference, merchantAccount, transactionId, source, amount: 0n, currency: 'XXX' };
  const why = { reason: 'invalid-amount', handling: 'kept', evidence: {}, now: agenda.now } as const;
  store.keepUnmatched([{ ...what, ...why, orderId: known?.orderId ?? null }]);
  if (known) engine.schedule(reconcileTimeout(known.orderId), agenda.now);
}

/** The same as src/orders/input/provider-money.ts, which costs too much here. */
function isBookable({ amount, currency }: Money): boolean {
  return amount >= 1n && amount <= BigInt(LIMITS.money) && LIMITS.currency.test(currency);
}

/**
 * src/orders/pay/handle-notification.ts: the state of a payment has changed. False: nobody knows it, or only a report has used
 * its name, so another one is looked up.
 */
function look(shop: Shop, money: Money): boolean {
  const { world } = shop;
  const { engine, agenda, wiring, store } = world;
  const known = findNotified(world, money);
  if (!known) return tellOfRefund(shop, money);
  const { orderId } = known;
  if (wiring.looksUpOnChange) engine.schedule(reconcileTimeout(orderId), agenda.now);
  engine.wake(paymentTimeout(orderId), 'passive');
  engine.wake({ kind: ORDER_LATE_WATCH, key: orderId }, 'passive');
  for (const { status, isPaidBack, number } of [...store.refunds.values()].filter((row) => row.orderId === orderId)) {
    const { kind, key, payload = {} } = refundTimeout(number, true);
    if (status === 'PENDING' || isPaidBack) engine.wake({ kind, key }, 'passive');
    else if (wiring.checksRefunds) engine.schedule({ kind, key }, agenda.now, payload);
  }
  return known.reference === money.reference;
}

/** The order was erased or purged after it had refunded the payment. */
function tellOfRefund({ world: { store, agenda } }: Shop, { provider, reference, merchantAccount }: Money): boolean {
  const names = { provider, reference, merchantAccount, transactionId: null };
  const unresolved = merchantAccount === null ? [] : [{ ...names, merchantAccount: null }];
  const refunded = refundedOf([names, ...unresolved].flatMap((one) => store.handled.find(one)));
  if (!refunded) return false;
  const why = { reason: 'refund-failed', handling: 'kept', evidence: {}, now: agenda.now } as const;
  store.keepUnmatched([{ ...names, ...refunded, source: 'provider', ...why }]);
  return true;
}

/** The provider tells that money is here again, until it is heard; some of it never. */
export function tellOfFailedRefund(shop: Shop, provider: string, payment: ProviderPayment, round = 0): void {
  const { agenda, random } = shop.world;
  const { reference } = payment.traits;
  const delayMs = DELAYS_MS[round];
  for (const unit of payment.units.filter(({ hasComeBack }) => hasComeBack)) unit.isHeard = delayMs !== undefined;
  if (delayMs === undefined) return;
  agenda.after(delayMs + random.between(20, 800), () => {
    if (random.chance(0.3)) return tellOfFailedRefund(shop, provider, payment, round + 1);
    const merchantAccount = shop.accountOf(payment.owner);
    // It names the transaction whose refund has failed.
    const failed = payment.units.filter(({ hasComeBack }) => hasComeBack);
    for (const unit of failed) look(shop, moneyOf({ provider, reference, merchantAccount }, payment.paidOutcome(unit)));
  });
}

function isFirst({ world }: Shop, key: AttemptKey, { transactionId }: PaidOutcome): boolean {
  return world.providerOf(key).find(key.reference)?.taken?.transactionId === transactionId;
}

function hear(shop: Shop, key: AttemptKey, paid: PaidOutcome): void {
  const unit = unitOf(shop, { ...key, transactionId: paid.transactionId });
  if (unit) Object.assign(unit, { isHeard: true, isNamed: true });
}
