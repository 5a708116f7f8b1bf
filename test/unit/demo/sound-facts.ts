import { type PlannedOrder } from '../../../examples/demo/buyers/planned-order';
import { type Facts, type OrderFact } from '../../../examples/demo/checking/facts';
import { type EventFact, type HistoryFact } from '../../support/checks/facts';
import { type ClaimFact, type MoneyFacts, type OpenRowFact } from '../../support/checks/money-checks';

const DEADLINE = 1_000_000;

const EVENT_OF: Record<string, string> = { CLOSING: 'order.closing', CLOSED: 'order.closed', PAID: 'order.paid' };

const plan = (id: string, overrides: Partial<PlannedOrder>): PlannedOrder => ({
  id,
  group: 'never-pays',
  channel: 'http',
  placeAtMs: 0,
  windowMs: 2_000,
  lines: [{ sku: 'tea', quantity: 2, unitAmount: 100 }],
  amount: 200,
  ...overrides,
});

const step = (version: number, from: string | null, to: string, occurredAt: number): HistoryFact => ({
  version,
  from,
  to,
  cause: from === null ? 'api' : 'message',
  occurredAt,
});

const stored = (status: string, version: number): NonNullable<OrderFact['stored']> => ({
  status,
  version,
  expiresAt: DEADLINE,
  graceMs: 0,
});

/** Opened the payment page, never paid, was closed on time. */
const closed: OrderFact = {
  plan: plan('closed', { payment: { faults: [] } }),
  stored: stored('CLOSED', 3),
  history: [
    step(1, null, 'PENDING', DEADLINE - 2_000),
    step(2, 'PENDING', 'CLOSING', DEADLINE + 5),
    step(3, 'CLOSING', 'CLOSED', DEADLINE + 30),
  ],
  reservations: [{ sku: 'tea', quantity: 2, state: 'RELEASED' }],
  ledger: { status: 'CLOSED', isClosed: true, refusedPays: 0 },
};

/** Placed by the module API, paid, and only the provider knew. */
const paid: OrderFact = {
  plan: plan('paid', { group: 'notify-lost', channel: 'module', payment: { paysAtMs: 500, faults: [] } }),
  stored: stored('PAID', 3),
  history: [
    step(1, null, 'PENDING', DEADLINE - 2_000),
    step(2, 'PENDING', 'CLOSING', DEADLINE + 5),
    step(3, 'CLOSING', 'PAID', DEADLINE + 30),
  ],
  reservations: [{ sku: 'tea', quantity: 2, state: 'COMMITTED' }],
  ledger: { status: 'PAID', isClosed: false, refusedPays: 0 },
};

/** Tried to pay two seconds after the deadline. */
const late: OrderFact = {
  ...closed,
  plan: plan('late', { group: 'pays-too-late', payment: { paysAtMs: 4_000, faults: [] } }),
  ledger: { status: 'CLOSED', isClosed: true, refusedPays: 1 },
};

function eventsOf({ plan: { id }, history }: OrderFact): EventFact[] {
  return history.flatMap(({ to, version }) => {
    const type = EVENT_OF[to];
    return type ? [{ id: `${id}-${version}`, type, orderId: id, orderVersion: version, deliveries: 1 }] : [];
  });
}

/** A payment of 200 that no order has, and that nobody knows of. */
export const ENTRY: MoneyFacts['ledger'][number] = {
  ...{ provider: 'simulator', reference: 'pay-paid', orderId: 'paid', merchantAccount: null, transactionId: 't-paid' },
  ...{ amount: '200', currency: 'EUR', status: 'PAID', paidAmount: '200', paidCurrency: 'EUR', refundedAmount: '0' },
  ...{ createdAt: '', scannedAt: null, paidAt: '', closedAt: null, refundedAt: null, disputedAt: null, refunds: [] },
  ...{ winner: 'buyer', refusedPays: 0, queries: 0, closes: 0 },
  notifications: { sent: 0, acknowledged: 0, failed: 0, lost: 0, forged: 0 },
};

const NAMES = { provider: 'simulator', merchantAccount: '', reference: 'pay-paid', transactionId: '' };

/** The order that has it. */
export const CLAIM: ClaimFact = { ...NAMES, orderId: 'paid', orderAmount: '200', amount: '200' };

export const openRow = (reason: string): OpenRowFact => ({ ...NAMES, reason });

/** A run in which everything went as it must. */
export const soundFacts: Facts = {
  orders: [closed, paid, late],
  stock: [{ sku: 'tea', initial: 10, onHand: 8, reserved: 0 }],
  hasBroker: true,
  events: [closed, paid, late].flatMap(eventsOf),
  baskets: ['paid'],
  unplannedOrders: [],
  outboxRows: 0,
  pendingTimeouts: 0,
  parkedTimeouts: [],
  parkedMessages: [],
  unmatchedPayments: [],
  money: { ledger: [ENTRY], claims: [CLAIM], openRows: [] },
  refusals: [],
  wasKilled: false,
  slowness: 1,
};

/** The sound facts with something about one order changed. */
export function withOrder(id: string, change: (order: OrderFact) => OrderFact): Facts {
  return {
    ...soundFacts,
    orders: soundFacts.orders.map((order) => (order.plan.id === id ? change(order) : order)),
  };
}

/** The order with its status, and the last entry of its history, changed. */
export function ending(order: OrderFact, status: string): OrderFact {
  const { stored: row, history } = order;
  return {
    ...order,
    ...(row && { stored: { ...row, status } }),
    history: history.map((entry, index) => (index === history.length - 1 ? { ...entry, to: status } : entry)),
  };
}
