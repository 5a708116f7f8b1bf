import {
  PAYMENT_RECONCILIATION,
  PAYMENT_REFUND,
  ORDER_LATE_WATCH,
  ORDER_PAYMENT,
} from '../../src/orders/model/order-timeouts';
import { type AttemptKey, isSameAttempt, type LockedOrder, type OrderStatus } from '../../src/orders/model/order';
import { FINISHED_STATUSES } from '../../src/orders/retention/purge-orders';
import { type Shop } from './shop';
import { type UnmatchedRow } from './unmatched-table';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** src/orders/retention: erases and deletes finished orders, and deletes what was settled. */
export function sendArchivist(shop: Shop, orderId: string): void {
  const { agenda, random, store } = shop.world;
  if (!shop.plan.forgets) return;
  const deadlineMs = store.lock(orderId).expiresAt.getTime();
  const at = (fromMs: number, toMs: number, act: () => void): void =>
    agenda.at(deadlineMs + random.between(fromMs, toMs), act);
  if (random.chance(0.6)) at(0, 50 * HOUR, () => erase(shop, orderId));
  if (random.chance(0.5)) at(DAY, 80 * HOUR, () => purge(shop, orderId));
  for (let times = 3; times > 0; times--) at(DAY, 100 * HOUR, () => purgeRows(shop));
}

function erase(shop: Shop, orderId: string): void {
  const { store, trace } = shop.world;
  if (!isFinished(shop, orderId)) return;
  trace.note(() => `${orderId}, which is ${store.lock(orderId).status}, is erased`);
  const pseudonymOf = ({ reference }: AttemptKey): string => `erased:${orderId}:${reference}`;
  for (const attempt of store.lock(orderId).attempts) shop.rename(attempt, pseudonymOf(attempt), attempt.transactionId);
  store.erase(orderId, (key) => {
    shop.rename(key, pseudonymOf(key), null);
    return pseudonymOf(key);
  });
}

function purge(shop: Shop, orderId: string): void {
  const { store, agenda, trace } = shop.world;
  const changedMs = store.history.get(orderId)?.at(-1)?.atMs ?? 0;
  if (!isFinished(shop, orderId) || changedMs > agenda.nowMs - DAY) return;
  trace.note(() => `${orderId}, which is ${store.lock(orderId).status}, is purged`);
  store.purge(orderId);
}

function purgeRows({ world: { store, agenda, wiring } }: Shop): void {
  const olderThan = new Date(agenda.nowMs - DAY);
  if (!wiring.keepsSettled) store.forgetSettled(olderThan);
  const attempts = store.all().flatMap((order) => order.attempts);
  // Only the row lets a person reopen what was settled.
  const isHeld = (key: AttemptKey): boolean =>
    store.isRefunding(key) || attempts.some((one) => one.status === 'SETTLED' && isSameAttempt(one, key));
  store.unmatched.purge(olderThan, isHeld);
}

/** src/orders/retention/purge-orders.ts. */
function isFinished(shop: Shop, orderId: string): boolean {
  const { store, engine } = shop.world;
  if (!store.has(orderId)) return false;
  const order = store.lock(orderId);
  if (!(FINISHED_STATUSES as readonly OrderStatus[]).includes(order.status)) return false;
  const numbers = [...store.refunds.values()]
    .filter((refund) => refund.orderId === orderId)
    .map(({ number }) => number);
  const timeouts = [
    ...[ORDER_PAYMENT, ORDER_LATE_WATCH, PAYMENT_RECONCILIATION].map((kind) => ({ kind, key: orderId })),
    ...numbers.map((key) => ({ kind: PAYMENT_REFUND, key })),
  ];
  const isRefunding = [...store.refunds.values()].some((one) => one.orderId === orderId && one.status === 'PENDING');
  const hasOpenAttempt = order.attempts.some(({ status }) => !FINAL.includes(status));
  return (
    !isRefunding && !hasOpenAttempt && !hasOpenMoney(shop, order) && !timeouts.some((ref) => engine.table.find(ref))
  );
}

const FINAL = ['PAID', 'CLOSED', 'REFUNDED', 'DUPLICATE', 'SETTLED'];

function hasOpenMoney({ world: { store } }: Shop, { id, attempts }: LockedOrder): boolean {
  const isHere = (row: UnmatchedRow): boolean =>
    row.orderId === id || attempts.some((attempt) => isSameAttempt(attempt, row));
  return store.unmatched
    .all()
    .some((row) => isHere(row) && !store.unmatched.isDone(row, (key) => store.isRefunding(key)));
}
