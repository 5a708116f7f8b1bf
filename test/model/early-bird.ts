import { draftAttempt } from '../../src/orders/model/money';
import { type AttemptKey } from '../../src/orders/model/order';
import { bookPayment, moneyOf } from './book-payment';
import { notify } from './notifier';
import { ProviderPayment } from './provider-payment';
import { type Shop } from './shop';

const MINUTE = 60_000;
/** With every message lost and every worker dead for a while, an order that is paid is noticed within this time. */
const PATIENCE_MS = 3 * MINUTE;

/** A shop that places its order only when the buyer comes back: the payment, and the word of it, are there before. */
export function payBeforePlacing(shop: Shop, orderId: string, visit: (key: AttemptKey | undefined) => void): void {
  const { agenda, random, trace, world } = { ...shop.world, world: shop.world };
  const key = { provider: 'p1', reference: `${orderId}-a0`, merchantAccount: shop.accountOf(orderId) };
  const traits = { reference: key.reference, currency: 'EUR', timeExpire: null, existsAtOnce: true, toleranceMs: 0 };
  const payment = new ProviderPayment({ ...traits, ...HONEST }, orderId, agenda.nowMs);
  world.providerOf(key).add(payment);
  payment.endPaying(random.pick([5, 100n], [1, 50n]), 'EUR', agenda.nowMs);
  trace.note(() => `provider has taken ${payment.heldAmount} for ${key.reference}, which no order has yet`);
  notify(shop, key, payment.paidOutcome());
  if (random.chance(0.3)) {
    const told = moneyOf(key, payment.paidOutcome(), 'report');
    agenda.after(random.between(1, 10_000), () =>
      bookPayment(world, shop.late, told, { orderId, by: { cause: 'api' } }),
    );
  }
  const isInOrder = random.chance(0.5);
  agenda.after(random.between(20, 60_000), () => {
    visit(isInOrder ? key : undefined);
    if (isInOrder && payment.heldAmount === 100n) expectPaid(shop, orderId, payment);
  });
}

const HONEST = { lies: 0, closeLagMs: 0, leaksAfterClose: false };

/** Its buyer looks at the page, which should not say for half an hour that the order is unpaid. */
function expectPaid(shop: Shop, orderId: string, payment: ProviderPayment): void {
  const { store, agenda } = shop.world;
  if (!store.has(orderId) || payment.taken?.isHeard !== true || shop.plan.pause) return;
  agenda.after(PATIENCE_MS, () => {
    // A person may have paid it back before the order came.
    const isPaidBack = payment.units.some(({ paidBack }) => paidBack > 0n);
    if (isPaidBack || store.lock(orderId).status !== 'PENDING') return;
    shop.noted.push({ type: 'endless', text: `${orderId} was paid before it was placed, and is still PENDING` });
  });
}

/** The attempt that an order is placed with. */
export function placedWith(shop: Shop, orderId: string, key: AttemptKey): void {
  const { store, agenda } = shop.world;
  const { merchantAccount, ...named } = key;
  const account = merchantAccount === null ? {} : { merchantAccount };
  store.putAttempt(draftAttempt(store.lock(orderId), { ...named, ...account }, agenda.now));
}
