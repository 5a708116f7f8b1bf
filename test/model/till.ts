import { accountOf } from '../../src/orders/model/new-order';
import { deadlineTimeouts } from '../../src/orders/model/order-timeouts';
import { draftAttempt } from '../../src/orders/model/money';
import {
  hasRegistered,
  isPayable,
  type AttemptKey,
  isSameAttempt,
  type PaymentAttempt,
} from '../../src/orders/model/order';
import { sendBuyer } from './buyer';
import { lockAtDesk } from './lock-at-desk';
import { cancel } from './people';
import { ProviderPayment } from './provider-payment';
import { type Random } from './random';
import { type Shop } from './shop';

/** src/orders/pay/register-attempt.ts, and what the shop and its buyer do with the attempt. */
export function offerAttempts(shop: Shop, orderId: string): void {
  const { agenda, random, store } = shop.world;
  const closesInMs = store.lock(orderId).expiresAt.getTime() - agenda.nowMs;
  const count = shop.plan.manyAttempts ?? random.pick([60, 1], [30, 2], [10, 3]);
  for (let index = 0; index < count; index++) {
    const isLate = random.chance(0.3);
    const firstMs = index === 0 ? random.between(0, 20_000) : random.between(0, closesInMs);
    agenda.after(isLate ? closesInMs + random.between(-4_000, 500) : firstMs, () => offer(shop, orderId, index));
  }
}

function offer(shop: Shop, orderId: string, index: number): void {
  const { random } = shop.world;
  const { name: provider } = shop.plan.providers[index % shop.plan.providers.length] ?? { name: 'p1' };
  const merchantAccount = shop.accountOf(orderId);
  // Merchants that do not know of each other use the same numbers.
  const number = shop.plan.accounts.length > 1 ? `a${index + 1}` : `${orderId}-a${index + 1}`;
  const key = { provider, reference: number, merchantAccount };
  // Some shops go to the provider first, and the buyer may be quicker than their registration.
  if (random.chance(0.05)) return offerUnregistered(shop, orderId, key);
  const isWrittenFirst = random.chance(0.1);
  if (!isWrittenFirst) return handOver(shop, orderId, key);
  // Some shops write the attempt down before they go to the provider, and some of them never get there.
  if (!register(shop, orderId, key, false) || random.chance(0.3)) return;
  shop.world.agenda.after(random.between(50, 20_000), () => handOver(shop, orderId, key));
}

function handOver(shop: Shop, orderId: string, key: AttemptKey): void {
  const attempt = register(shop, orderId, key, true);
  if (!attempt) return;
  goToProvider(shop, orderId, key, attempt.timeExpire);
  const { agenda, random } = shop.world;
  // Registered again, perhaps by a process that knows more or less.
  if (shop.processes.knowledge === 'all' || random.chance(0.5)) return;
  agenda.after(random.between(100, 60_000), () => register(shop, orderId, key, true, attempt.timeExpire ?? undefined));
}

function offerUnregistered(shop: Shop, orderId: string, key: AttemptKey): void {
  const { agenda, random, store, wiring } = shop.world;
  const { expiresAt } = store.lock(orderId);
  if (!isPayable(store.lock(orderId), agenda.now)) return;
  const timeExpire = wiring.sendsTimeExpire ? expiresAt : undefined;
  goToProvider(shop, orderId, key, timeExpire ?? null);
  const leftMs = expiresAt.getTime() - agenda.nowMs;
  const lateMs = random.pick([1, random.between(50, 20_000)], [1, random.between(50, leftMs + 500)]);
  agenda.after(lateMs, () => register(shop, orderId, key, true, timeExpire));
}

function goToProvider(shop: Shop, orderId: string, key: AttemptKey, timeExpire: Date | null): void {
  const { agenda, random, store } = shop.world;
  const { reference } = key;
  const intent = random.chance(shop.plan.intents) ? { intent: `pi-${reference}` } : {};
  const limit = timeExpire?.getTime() ?? null;
  const traits = { ...drawTraits(random), ...intent, reference, currency: 'EUR', timeExpire: limit };
  const payment = new ProviderPayment(traits, orderId, agenda.nowMs);
  shop.world.providerOf(key).add(payment);
  // Some buyers change their mind at once.
  if (random.chance(0.03)) agenda.after(random.between(0, 150), () => cancel(shop, orderId));
  const { expiresAt, graceMs } = store.lock(orderId);
  sendBuyer(shop, key, payment, expiresAt.getTime() + graceMs);
}

function register(
  shop: Shop,
  orderId: string,
  named: AttemptKey,
  handedOver: boolean,
  timeExpire = drawLimit(shop, orderId),
): PaymentAttempt | undefined {
  const { store, engine, agenda, trace, wiring } = shop.world;
  if (!store.has(orderId)) return undefined;
  const key = registeredAs(shop, named);
  const order = lockAtDesk(shop.world, orderId);
  const known = store.lock(orderId).attempts.find((attempt) => isSameAttempt(attempt, key));
  const isAdopted = known?.status === 'PAID' && !hasRegistered(known);
  if (!isPayable(order, agenda.now) || (known && !isAdopted && known.status !== 'CREATED')) return undefined;
  if (known?.status !== 'CREATED' && ![undefined, orderId].includes(store.ownerOf(key))) return undefined;
  const limit = timeExpire ? { timeExpire } : {};
  const { provider, reference, merchantAccount } = key;
  const asked = { provider, reference, merchantAccount: merchantAccount ?? undefined, ...limit, handedOver };
  const drafted = draftAttempt(order, asked, agenda.now);
  const attempt = {
    ...(isAdopted ? { ...known, registered: true, assigned: false, amount: drafted.amount } : drafted),
    timeExpire: drafted.timeExpire ?? known?.timeExpire ?? null,
  };
  store.putAttempt(attempt);
  trace.note(() => `attempt ${key.reference} at ${key.provider} is registered as ${attempt.status}`);
  raiseGrace(shop, orderId, key.provider);
  for (const { afterMs = 0, ...ref } of wiring.earlyMoneyTimeout(order, store.hasAdoptable(key))) {
    engine.schedule(ref, new Date(agenda.nowMs + afterMs));
  }
  return attempt;
}

/** The account that the process which gets the request resolves. */
function registeredAs({ processes }: Shop, { merchantAccount, ...key }: AttemptKey): AttemptKey {
  return {
    ...key,
    merchantAccount: processes.knowledge === 'all' ? merchantAccount : accountOf(key, processes.some()),
  };
}

function drawLimit({ world: { wiring, random, store } }: Shop, orderId: string): Date | undefined {
  return wiring.sendsTimeExpire && random.chance(0.98) ? store.lock(orderId).expiresAt : undefined;
}

function raiseGrace({ world: { store, engine, agenda }, policies }: Shop, orderId: string, provider: string): void {
  const order = store.lock(orderId);
  const graceMs = policies.graceMs(order.merchantId, provider, order.graceMs);
  if (graceMs === order.graceMs) return;
  const raised = store.amend(orderId, { graceMs });
  for (const { dueAt = raised.expiresAt, ...ref } of deadlineTimeouts(raised, agenda.now)) engine.schedule(ref, dueAt);
}

function drawTraits(random: Random): Omit<ProviderPayment['traits'], 'reference' | 'currency' | 'timeExpire'> {
  return {
    existsAtOnce: random.chance(0.5),
    toleranceMs: random.pick([6, 0], [3, random.between(0, 20_000)], [1, random.between(0, 7_200_000)]),
    lies: random.chance(0.15) ? random.between(1, 2) : 0,
    closeLagMs: random.pick([9, 0], [1, random.between(100, 10_000)]),
    leaksAfterClose: random.chance(0.2),
  };
}
