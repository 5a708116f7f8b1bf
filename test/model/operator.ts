import {
  closesAt,
  type LockedOrder,
  canTakeMoney,
  isUnconfirmed,
  type PaymentAttempt,
} from '../../src/orders/model/order';
import { readConfirmation } from '../../src/orders/lookup/payment-lookups';
import { declareClosed } from '../../src/orders/close/end-order';
import { decideManualRefund, decideRevival } from '../../src/orders/operator/refund-and-revive';
import { paymentTimeout } from '../../src/orders/model/order-timeouts';
import { transition } from '../../src/orders/model/transition';
import { bookPayment, moneyOf } from './book-payment';
import { lockAtDesk } from './lock-at-desk';
import { type Shop } from './shop';
import { isAskedAbout, unitOf } from './truth';
import { type UnmatchedRow } from './unmatched-table';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const BY = { cause: 'operator' } as const;

/** An operator who decides manually about an order, around its deadline and long after it. */
export function sendOperator(shop: Shop, orderId: string): void {
  const { agenda, random, store } = shop.world;
  const deadlineMs = store.lock(orderId).expiresAt.getTime();
  if (random.chance(0.12)) {
    agenda.at(deadlineMs + random.between(-MINUTE, 3 * MINUTE), () => closeByHand(shop, orderId));
  }
  if (random.chance(0.06)) {
    agenda.at(deadlineMs + random.between(-MINUTE, 30 * HOUR), () => workOffMoney(shop, orderId));
  }
}

/** What is done about the money of an order that nobody else decides about: it pays the order after all, or goes back. */
export function workOffMoney(shop: Shop, orderId: string): void {
  if (!shop.world.store.has(orderId)) return;
  if (shop.world.random.chance(0.5)) reviveByHand(shop, orderId);
  const paid = shop.world.store.lock(orderId).attempts.filter(({ status }) => status === 'PAID');
  for (const attempt of paid) refundByHand(shop, attempt);
}

/** src/orders/operator/close-order.ts. */
export function closeByHand(shop: Shop, orderId: string): void {
  const { world, late } = shop;
  const { store, engine, agenda, wiring, trace } = world;
  const order = lockAtDesk(world, orderId);
  const decision = wiring.decideManualClose(
    { ...order, waiting: late.claims.confirmedOf(order) },
    declares(shop, order),
  );
  trace.note(() => `operator closes ${orderId}, which is ${order.status} -> ${decision.type}`);
  if (decision.type === 'look-up') {
    engine.schedule(paymentTimeout(orderId), agenda.now);
    if (order.status === 'CLOSING') store.amend(orderId, {});
    else store.apply(transition(order, 'CLOSING', { by: BY, now: agenda.now, closingReason: 'expired' }));
  }
  if (decision.type !== 'close') return;
  store.putAttempts(declareClosed(order, decision.declared));
  engine.cancel(paymentTimeout(orderId));
  const closingReason = decision.to === 'CANCELLED' ? 'cancelled' : 'expired';
  if (!store.apply(transition(order, decision.to, { by: BY, now: agenda.now, closingReason }))) {
    throw new Error(`${orderId} changed under its lock`);
  }
  if (wiring.checksDeclared) late.watch(orderId);
}

/** Some look at the provider's console, and say that nobody has paid; one of a weaker variant says so without looking. */
function declares({ world }: Shop, { attempts }: LockedOrder): boolean {
  const { random, wiring } = world;
  if (!wiring.checksDeclared) return true;
  if (!random.chance(0.5)) return false;
  const isPaid = (attempt: PaymentAttempt): boolean =>
    world.providerOf(attempt).find(attempt.reference)?.taken !== undefined;
  return !attempts.filter(canTakeMoney).some(isPaid);
}

/** src/orders/operator/revive-order.ts. */
function reviveByHand({ world, late }: Shop, orderId: string): void {
  const order = lockAtDesk(world, orderId);
  const paid = order.attempts.filter(({ status }) => status === 'PAID');
  const decision = decideRevival(order, late.claims.disputed(paid));
  if (decision.type !== 'revive') return;
  const isRevived = late.reviveWith(orderId, decision.attempts, BY);
  const isKept = ({ reason, handling, ...row }: UnmatchedRow): boolean =>
    row.orderId === orderId && reason === 'late' && handling === 'kept';
  if (isRevived) world.store.unmatched.handle(isKept, 'revived');
  world.trace.note(() => `operator revives ${orderId}: ${isRevived ? 'PAID' : 'the goods are gone'}`);
}

/** src/orders/operator/refund-payment.ts: the provider is asked first about what was only reported. */
function refundByHand(shop: Shop, attempt: PaymentAttempt): void {
  const { world, late } = shop;
  if (!isUnconfirmed(attempt)) return refundByOperator(shop, attempt);
  world.providerOf(attempt).query(attempt.reference, (answer) => {
    const found = readConfirmation(answer);
    if (found.type === 'PAID') {
      world.providerOf(attempt).hear(attempt.reference);
      const { orderId } = attempt;
      bookPayment(world, late, moneyOf(attempt, found), { orderId, by: BY, verified: true });
    }
    refundByOperator(shop, attempt);
  });
}

function refundByOperator(shop: Shop, { orderId, ...key }: PaymentAttempt): void {
  const { world, late } = shop;
  const { store, engine, agenda, trace } = world;
  // The page shows the row that asks whether it was paid back, so its operator looks at the books.
  const unit = unitOf(shop, key);
  if (unit && isAskedAbout(shop, unit)) return;
  const order = lockAtDesk(world, orderId);
  const decision = decideManualRefund(order, { ...key, transactionId: null });
  trace.note(() => `operator refunds ${key.reference} of ${orderId}, which is ${order.status} -> ${decision.type}`);
  if (decision.type !== 'refund' || late.claims.disputed([decision.attempt]).length > 0) return;
  late.beginRefunds([decision.attempt], 'operator');
  late.claims.closeOutdated(orderId);
  late.noteExcess(store.lock(orderId));
  const isOverdue = order.status === 'PENDING' && order.autoClose && agenda.now >= closesAt(order);
  if (order.status === 'CLOSING' || isOverdue) engine.schedule(paymentTimeout(orderId), agenda.now);
  late.enterRefunding(orderId, BY);
  if (store.lock(orderId).version === order.version) store.amend(orderId, {});
}
