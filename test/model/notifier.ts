import { type AttemptKey } from '../../src/orders/payment-attempt';
import { type PaidOutcome } from '../../src/payments';
import { paymentTimeout, reconcileTimeout } from '../../src/orders/order-timeouts';
import { bookNotified, moneyOf } from './book-payment';
import { type Shop } from './shop';

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
    if (isWritten) deliver(shop, key, paid);
    if (!isWritten || random.chance(0.15)) notify(shop, key, paid, round + 1);
  });
}

function deliver(shop: Shop, key: AttemptKey, paid: PaidOutcome): void {
  const { store, engine, agenda, wiring } = shop.world;
  const money = moneyOf(key, paid);
  if (!shop.plan.changeOnly) {
    shop.heard(key);
    return bookNotified(shop.world, shop.late, money, { cause: 'notify' });
  }
  const known = store.findAttempt(money);
  if (!known) return;
  shop.heard(key);
  if (wiring.looksUpOnChange) engine.schedule(reconcileTimeout(known.orderId), agenda.now);
  engine.wake(paymentTimeout(known.orderId), 'passive');
}
