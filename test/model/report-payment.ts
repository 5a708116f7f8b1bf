import { accountIn } from '../../src/orders/model/reported-payment';
import { accountOf } from '../../src/orders/model/new-order';
import { type AttemptKey, isSameAttempt } from '../../src/orders/model/order';
import { bookPayment, moneyOf } from './book-payment';
import { type ProviderPayment } from './provider-payment';
import { type Shop } from './shop';

/**
 * The shop's own handler reports a payment: by the name that the provider gives it, where it has one, and sometimes with
 * what it has on its books, net of a coupon, and not what was taken. Sometimes it mixes the attempts of an order up. Before
 * the notification or after it.
 */
export function reportPayment(shop: Shop, key: AttemptKey, payment: ProviderPayment): void {
  const { agenda, random, store, trace } = shop.world;
  const paid = payment.paidOutcome();
  const reference = payment.traits.intent ?? key.reference;
  const amount = random.chance(0.2) ? (paid.amount * 8n) / 10n : paid.amount;
  agenda.after(random.pick([3, random.between(5, 400)], [1, random.between(400, 120_000)]), () => {
    const orderId = payment.owner;
    if (amount === 0n || !store.has(orderId)) return;
    trace.note(
      () => `the shop reports ${amount} for ${reference} of ${orderId}, which is ${store.lock(orderId).status}`,
    );
    const mixedUp = random.chance(0.15) ? otherAttempt(shop, orderId, key) : undefined;
    // Its books may have another number for it.
    const isOwn = shop.plan.openReferences && agenda.nowMs % 3 < 1;
    const transactionId = mixedUp ? paid.transactionId : isOwn ? `books-${paid.transactionId}` : null;
    const named = mixedUp ?? { ...key, reference };
    const told = moneyOf(accounted(shop, orderId, named), { ...paid, amount, transactionId }, 'report');
    bookPayment(shop.world, shop.late, told, { orderId, by: { cause: 'api' } });
  });
}

/** The account that the process which gets the report resolves, if the shop does not name it. */
function accounted({ processes, world }: Shop, orderId: string, { merchantAccount, ...key }: AttemptKey): AttemptKey {
  if (processes.knowledge === 'all') return { ...key, merchantAccount };
  const resolved = accountOf(key, processes.some());
  return { ...key, merchantAccount: accountIn(world.store.lock(orderId), key, resolved) };
}

/** Only while its own attempt is registered too: what else a report says of a payment is all that anybody knows. */
function otherAttempt({ world }: Shop, orderId: string, key: AttemptKey): AttemptKey | undefined {
  const { attempts } = world.store.lock(orderId);
  if (!attempts.some((one) => isSameAttempt(one, key))) return undefined;
  return attempts.find(
    (one) => one.reference !== key.reference && isSameAttempt({ ...one, reference: key.reference }, key),
  );
}
