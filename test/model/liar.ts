import { type Money } from '../../src/orders/model/money';
import { bookPayment } from './book-payment';
import { type Shop } from './shop';

/**
 * Somebody who may report payments names the payment of another order: by mistake, or to get goods for it. The report
 * names the other payment by its reference, as the transaction of an own attempt, or both ways.
 */
export function sendLiar(shop: Shop, orderId: string, victimId: string): void {
  const { agenda, random, store } = shop.world;
  if (!shop.plan.lies) return;
  const deadlineMs = store.lock(orderId).expiresAt.getTime();
  for (let lies = random.between(1, 3); lies > 0; lies--) {
    const fromMs = random.between(agenda.nowMs, deadlineMs + 60_000);
    agenda.at(fromMs, () => lie(shop, orderId, victimId));
  }
}

function lie(shop: Shop, orderId: string, victimId: string): void {
  const { world, late } = shop;
  const { random, store, trace, agenda } = world;
  if (!store.has(orderId) || !store.has(victimId)) return;
  const payments = shop.payments().filter(({ owner }) => owner === victimId);
  const payment = payments[random.between(0, payments.length - 1)];
  const [own] = store.lock(orderId).attempts;
  if (!payment || !own) return;
  const { reference, intent } = payment.traits;
  const name = random.chance(0.3) ? (intent ?? `t-${reference}`) : reference;
  const { provider, merchantAccount } = own;
  const amount = shop.plan.liesInPart && random.chance(0.5) ? 50n : 100n;
  const money: Omit<Money, 'reference' | 'transactionId'> = {
    ...{ provider, merchantAccount, amount, currency: 'EUR', paidAt: agenda.now, source: 'report' },
  };
  const names = random.pick(
    [4, { reference: own.reference, transactionId: name }],
    [1, { reference: name, transactionId: null }],
    [1, { reference: `made-up-${orderId}`, transactionId: name }],
  );
  trace.note(() => `a liar reports ${names.reference} (${names.transactionId}) for ${orderId}`);
  shop.liars.add(orderId);
  bookPayment(world, late, { ...money, ...names }, { orderId, by: { cause: 'api' } });
}
