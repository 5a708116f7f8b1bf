import { type EventFact, type HistoryFact } from '../../../test/support/checks/facts';
import { historyProblems } from '../../../test/support/checks/order-checks';
import { type Facts, type OrderFact, TERMINAL } from './facts';
import { type Invariant } from './invariant';
import { paidBeforePlaced, unexplained } from './outage';

/** The event that each status sends. */
const EVENT_OF: Readonly<Record<string, string>> = {
  CLOSING: 'order.closing',
  CLOSED: 'order.closed',
  CANCELLED: 'order.cancelled',
  PAID: 'order.paid',
};

/** History, events and transactions. */
export const RECORD_INVARIANTS: readonly Invariant[] = [
  {
    name: 'one-terminal-entry',
    says: 'every order has exactly one terminal entry in its history, and is in that status',
    violations: ({ orders }) => orders.flatMap(terminalProblems),
  },
  {
    name: 'history-gapless',
    says: 'history versions run from 1 to the version of the order, and each entry starts where the last one ended',
    violations: ({ orders }) =>
      orders.flatMap(({ plan, stored, history }) => historyProblems(plan.id, stored?.version ?? 0, history)),
  },
  {
    name: 'events-delivered',
    says: 'every transition has one event id, delivered at least once',
    needsBroker: true,
    violations: ({ orders, events }) => undelivered(orders, events),
  },
  {
    name: 'events-known',
    says: 'no event tells of something that is not in the history',
    needsBroker: true,
    violations: strangers,
  },
  {
    name: 'nothing-left',
    says: 'the outbox is empty, and no timeout is pending but the watch over ended orders',
    violations: ({ outboxRows, pendingTimeouts }) => [
      ...(outboxRows > 0 ? [`${outboxRows} rows in the outbox`] : []),
      ...(pendingTimeouts > 0 ? [`${pendingTimeouts} timeouts pending`] : []),
    ],
  },
  {
    name: 'nothing-parked',
    says: 'no timeout and no message is parked',
    violations: (facts) => [
      ...facts.parkedTimeouts.map((timeout) => `timeout ${timeout}`),
      ...unexplained(facts.parkedMessages, facts).map(({ says }) => `message ${says}`),
    ],
  },
  {
    name: 'same-transaction',
    says: "an order placed by the module API is there if, and only if, the shop's own transaction committed",
    violations: basketProblems,
  },
];

function terminalProblems({ plan, stored, history }: OrderFact): string[] {
  const ends = history.filter(({ to, from }) => TERMINAL.includes(to) && from !== to).map(({ to }) => to);
  if (ends.length !== 1) return [`${plan.id} has ${ends.length} terminal entries: ${ends.join(', ') || 'none'}`];
  return ends[0] === stored?.status
    ? []
    : [`${plan.id} is ${stored?.status ?? 'missing'}, its history says ${ends[0]}`];
}

const eventKey = (orderId: string, version: number, type: string): string => `${type} of ${orderId} v${version}`;

function expectedEvents(orders: readonly OrderFact[]): string[] {
  const isMove = ({ from, to }: HistoryFact): boolean => from !== to && to in EVENT_OF;
  return orders.flatMap(({ plan, history }) =>
    history.filter(isMove).map(({ to, version }) => eventKey(plan.id, version, EVENT_OF[to] ?? to)),
  );
}

function undelivered(orders: readonly OrderFact[], events: readonly EventFact[]): string[] {
  const ids = new Map<string, number>();
  for (const { orderId, orderVersion, type } of events) {
    const key = eventKey(orderId, orderVersion, type);
    ids.set(key, (ids.get(key) ?? 0) + 1);
  }
  return expectedEvents(orders).flatMap((key) => {
    const count = ids.get(key) ?? 0;
    return count === 1 ? [] : [`${key} came under ${count} ids`];
  });
}

function strangers(facts: Facts): string[] {
  const expected = new Set(expectedEvents(facts.orders));
  const explained = paidBeforePlaced(facts);
  const isExplained = ({ type, orderId }: EventFact): boolean =>
    type === 'order.payment_late' && explained.has(orderId);
  const events = facts.events.filter((event) => !isExplained(event));
  const keys = events.map(({ orderId, orderVersion, type }) => eventKey(orderId, orderVersion, type));
  return keys.filter((key) => !expected.has(key));
}

function basketProblems({ orders, baskets, unplannedOrders }: Facts): string[] {
  const written = new Set(baskets);
  const placed = orders.filter(({ plan, stored }) => plan.channel === 'module' && stored).map(({ plan }) => plan.id);
  return [
    ...placed.filter((id) => !written.has(id)).map((id) => `${id} is there without its basket`),
    ...unplannedOrders.map((id) => `${id} is there, and its transaction was rolled back`),
    ...baskets.filter((id) => !placed.includes(id)).map((id) => `the basket of ${id} is there without its order`),
  ];
}
