import { type LockedOrder } from '../../src/orders/order';
import { isUndecided, type OrderStatus } from '../../src/orders/order-status';
import { type PaymentAttempt } from '../../src/orders/payment-attempt';
import { checkHistory } from './check-history';
import { needsPerson } from './needs-person';
import { type Shop } from './shop';

/** What must not be, by the column of the table that it is counted in. */
export interface Violation {
  readonly type: 'charged' | 'overcharged' | 'stock' | 'endless' | 'history' | 'refund' | 'early' | 'unjust' | 'fault';
  readonly text: string;
}

/** Compares what we believe with what providers and goods really are, once nothing is going to happen any more. */
export function checkEnd(shop: Shop): { violations: Violation[]; parked: number } {
  const violations: Violation[] = [];
  for (const order of shop.world.store.all()) {
    violations.push(...checkMoney(shop, order), ...checkStock(shop, order), ...checkHistory(shop, order));
  }
  for (const text of shop.world.store.stock.problems()) violations.push({ type: 'stock', text });
  const rest = checkRest(shop);
  return { violations: [...violations, ...rest.violations], parked: rest.parked };
}

/** What the provider really holds for an attempt, by currency. */
export function heldFor(shop: Shop, { provider, reference }: PaymentAttempt): { amount: bigint; currency: string } {
  const payment = shop.provider(provider).find(reference);
  return { amount: payment?.heldAmount ?? 0n, currency: payment?.taken?.currency ?? '' };
}

function checkMoney(shop: Shop, order: LockedOrder): Violation[] {
  const held = order.attempts
    .map((attempt) => ({ attempt, ...heldFor(shop, attempt) }))
    .filter(({ amount }) => amount > 0n);
  const sum = (own: typeof held): bigint =>
    own.filter(({ currency }) => currency === order.currency).reduce((total, { amount }) => total + amount, 0n);
  if (order.status !== 'PAID') {
    return held.flatMap(({ attempt, amount }): Violation[] => {
      if (isKept(shop, order, attempt)) return [];
      return [
        { type: 'charged', text: `${order.id} is ${order.status}, and ${amount} are kept for ${attempt.reference}` },
      ];
    });
  }
  const missing: Violation[] = [{ type: 'charged', text: `${order.id} is PAID, and only ${sum(held)} are there` }];
  const spent = held.filter(({ attempt }) => !isKept(shop, order, attempt));
  const surplus = spent.filter((one) => sum(spent.filter((other) => other !== one)) >= order.amount);
  return [
    ...(sum(held) < order.amount ? missing : []),
    ...surplus.map(({ attempt }): Violation => ({
      type: 'overcharged',
      text: `${order.id} does not need ${attempt.reference}`,
    })),
  ];
}

/** Whether a person decides about this money, and was told: by the parked timeout, or by the orphan payment. */
function isKept(shop: Shop, order: LockedOrder, { provider, reference, status }: PaymentAttempt): boolean {
  const { policy, world } = shop;
  if (isUndecided(order.status)) return needsPerson(shop, order.id) && status === 'PAID';
  const ofEnded = order.status === 'PAID' ? policy.surplusPayment : policy.latePayment;
  const isTold = world.store.unexpected.some(
    (money) => money.handling === 'kept' && money.provider === provider && money.reference === reference,
  );
  return ofEnded === 'keep' && isTold && status === 'PAID';
}

const STOCK_OF: Record<OrderStatus, string> = {
  PENDING: 'RESERVED',
  CLOSING: 'RESERVED',
  PAID: 'COMMITTED',
  CLOSED: 'RELEASED',
  CANCELLED: 'RELEASED',
  REFUNDING: 'RELEASED',
  CLOSED_REFUNDED: 'RELEASED',
};

function checkStock({ world: { store } }: Shop, { id, status }: LockedOrder): Violation[] {
  const state = store.stock.stateOf(id);
  return state === STOCK_OF[status] ? [] : [{ type: 'stock', text: `${id} is ${status}, its goods are ${state}` }];
}

function checkRest(shop: Shop): { violations: Violation[]; parked: number } {
  const { store, engine } = shop.world;
  const rows = engine.table.all();
  const good = rows.filter(({ state, key }) => state === 'parked' && needsPerson(shop, key));
  const violations: Violation[] = [];
  for (const row of rows.filter((candidate) => !good.includes(candidate))) {
    violations.push({ type: 'endless', text: `${row.kind} ${row.key} is ${row.state}: ${row.lastError}` });
  }
  for (const { id, status } of store.all()) {
    const isOpen = status === 'PENDING' || status === 'CLOSING' || status === 'REFUNDING';
    if (isOpen && !rows.some((row) => row.key === id) && !isRefunding(shop, id)) {
      violations.push({ type: 'endless', text: `${id} is ${status}, and nobody will look at it again` });
    }
  }
  return { violations, parked: good.length };
}

function isRefunding({ world: { store } }: Shop, orderId: string): boolean {
  return [...store.refunds.values()].some((refund) => refund.orderId === orderId && refund.status === 'PENDING');
}
