import { type AttemptKey } from '../../src/orders/model/order';
import { type ModelProvider } from './model-provider';
import { type PaidOutcome } from '../../src/payments';
import { deliver, notify } from './notifier';
import { reportPayment } from './report-payment';
import { type ProviderPayment } from './provider-payment';
import { type Shop } from './shop';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Pays at some moment, mostly at the worst one: in the last second, or while the attempt is being closed. */
export function sendBuyer(shop: Shop, key: AttemptKey, payment: ProviderPayment, closesAtMs: number): void {
  const { agenda, random } = shop.world;
  const { graceMs } = shop.policy;
  const deadlineMs = closesAtMs - graceMs;
  const payAtMs = random.pick(
    [35, closesAtMs + random.between(-300, 1_500)],
    [15, deadlineMs + random.between(-3 * SECOND, 3 * SECOND)],
    [15, random.between(agenda.nowMs, deadlineMs)],
    [20, deadlineMs + random.between(0, 2 * MINUTE)],
    [8, deadlineMs + random.between(MINUTE, 6 * HOUR)],
    [18, Infinity],
  );
  if (payAtMs === Infinity && random.chance(0.5)) return;
  const provider = shop.world.providerOf(key);
  const isPaying = payAtMs !== Infinity;
  const lookMs = random.pick([4, random.between(200, 3_000)], [2, random.between(3 * SECOND, 5 * MINUTE)]);
  const scanAtMs = isPaying ? payAtMs - lookMs : random.between(agenda.nowMs, deadlineMs + MINUTE);
  agenda.at(scanAtMs, () => payment.scan(provider.clockMs));
  if (isPaying) agenda.at(Math.max(payAtMs, agenda.nowMs + 1), () => pay(shop, key, provider, payment, 2));
}

function pay(shop: Shop, key: AttemptKey, provider: ModelProvider, payment: ProviderPayment, tries: number): void {
  const { agenda, random, trace } = shop.world;
  const isLetIn = payment.beginPaying(provider.clockMs);
  trace.note(() => `buyer ${isLetIn ? 'is paying' : 'cannot pay'} ${key.reference}`);
  if (!isLetIn) return;
  const passwordMs = random.pick(
    [80, random.between(200, 3_000)],
    [18, random.between(3 * SECOND, 3 * MINUTE)],
    [0.7, random.between(3 * MINUTE, 3 * HOUR)],
  );
  const fails = random.chance(0.08);
  // One that slips in after the close would come after the watch.
  const debitMs = shop.plan.debits && !payment.isClosed ? random.between(25 * HOUR, 60 * HOUR) : 0;
  agenda.after(passwordMs + debitMs, () => {
    if (!fails) return take(shop, key, payment);
    payment.failPaying(agenda.nowMs);
    trace.note(() => `buyer has failed to pay ${key.reference}`);
    if (tries > 1) agenda.after(random.between(500, 5_000), () => pay(shop, key, provider, payment, tries - 1));
  });
}

function take(shop: Shop, key: AttemptKey, payment: ProviderPayment): void {
  const { agenda, random, trace } = shop.world;
  if (payment.taken) return;
  const { currency } = payment.traits;
  const half = shop.plan.openReferences ? 40 : 4;
  const amount = random.pick([94, 100n], [half, 50n], [1, 120n], [1, 100n]);
  payment.endPaying(amount, random.chance(0.01) ? 'USD' : currency, agenda.nowMs);
  trace.note(() => `provider has taken ${amount} for ${key.reference}`);
  notify(shop, key, asTold(shop, payment.paidOutcome()));
  if (shop.plan.forgets && random.chance(0.4)) repeatLate(shop, key, payment);
  if (shop.plan.openReferences && random.chance(0.7)) takeMore(shop, key, payment);
  if (random.chance(shop.plan.reports)) reportPayment(shop, key, payment);
}

/** Some adapters tell amounts and currencies that cannot be. */
function asTold({ world: { random }, plan }: Shop, paid: PaidOutcome): PaidOutcome {
  if (plan.oddAmounts === 0 || !random.chance(plan.oddAmounts)) return paid;
  const odd = random.pick<Partial<PaidOutcome>>(
    [1, { amount: 0n }],
    [1, { amount: -5n }],
    [1, { amount: 2n ** 60n }],
    [1, { currency: 'eur' }],
    [1, { currency: 'USDT' }],
  );
  return { ...paid, ...odd };
}

/** The provider's console can send a notification again, days after. */
function repeatLate(shop: Shop, key: AttemptKey, payment: ProviderPayment): void {
  const { agenda, random } = shop.world;
  agenda.after(random.between(HOUR, 100 * HOUR), () => deliver(shop, key, payment.paidOutcome()));
}

/** The reference takes more money, which only a notification tells of. */
function takeMore(shop: Shop, key: AttemptKey, payment: ProviderPayment): void {
  const { agenda, random, trace } = shop.world;
  agenda.after(random.pick([2, random.between(100, 60_000)], [1, random.between(60_000, 4 * HOUR)]), () => {
    const amount = random.pick([1, 100n], [1, 50n], [1, 250n]);
    const unit = payment.endPaying(amount, payment.traits.currency, agenda.nowMs);
    trace.note(() => `provider has taken ${amount} more for ${key.reference}`);
    notify(shop, key, payment.paidOutcome(unit));
  });
}
