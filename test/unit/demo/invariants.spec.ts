import { type Facts, type OrderFact } from '../../../examples/demo/checking/facts';
import { check } from '../../../examples/demo/checking/invariant';
import { INVARIANTS } from '../../../examples/demo/checking/invariants';
import { type MoneyFacts } from '../../support/checks/money-checks';
import { CLAIM, ending, ENTRY, openRow, soundFacts, withOrder } from './sound-facts';

const failing = (facts: Facts): string[] =>
  check(INVARIANTS, facts)
    .filter(({ holds }) => !holds)
    .map(({ name }) => name);

const movedBy = (order: OrderFact, version: number, ms: number): OrderFact => ({
  ...order,
  history: order.history.map((entry) =>
    entry.version === version ? { ...entry, occurredAt: entry.occurredAt + ms } : entry,
  ),
});

const [firstEvent, ...otherEvents] = soundFacts.events;

const TOO_LATE = { orderId: 'closed', code: 'ORDER_NOT_PENDING', says: 'order "closed" is not PENDING any more' };
const UNMATCHED = { orderId: 'paid', reason: 'unknown-order', says: 'pay-paid 200 EUR: unknown-order' };

/** What is wrong, the facts that show it, and every invariant that has to notice. */
const VIOLATIONS: readonly [string, Facts, readonly string[]][] = [
  [
    'an order is lost',
    withOrder('late', ({ plan, ledger }) => ({ plan, history: [], reservations: [], ...(ledger && { ledger }) })),
    ['all-placed', 'one-terminal-entry', 'events-known'],
  ],
  ['a request of the shop was refused', { ...soundFacts, refusals: [TOO_LATE] }, ['all-placed']],
  ['closing begins 1 ms early', withOrder('closed', (order) => movedBy(order, 2, -6)), ['never-early']],
  ['an order is closed 1 ms early', withOrder('closed', (order) => movedBy(order, 3, -31)), ['never-early']],
  [
    'an order is closed within its grace',
    withOrder('closed', (order) => ({ ...order, ...(order.stored && { stored: { ...order.stored, graceMs: 100 } }) })),
    ['never-early'],
  ],
  [
    'an unpaid order is open for 5 s after its deadline',
    withOrder('closed', (order) => movedBy(order, 3, 4_971)),
    ['in-time'],
  ],
  [
    'an unpaid order stays open',
    withOrder('closed', (order) => ending(order, 'CLOSING')),
    ['in-time', 'unpaid-not-paid', 'stock-exact', 'reservations-exact', 'one-terminal-entry', 'events-known'],
  ],
  [
    'a paid order is closed',
    withOrder('paid', (order) => ending(order, 'CLOSED')),
    ['paid-stays-paid', 'stock-exact', 'reservations-exact', 'events-delivered', 'events-known'],
  ],
  [
    'an order is PAID without money at the provider',
    withOrder('closed', (order) => ending(order, 'PAID')),
    ['unpaid-not-paid', 'stock-exact', 'reservations-exact', 'events-delivered', 'events-known'],
  ],
  [
    'an order is cancelled that nobody cancelled',
    withOrder('closed', (order) => ending(order, 'CANCELLED')),
    ['unpaid-not-paid', 'events-delivered', 'events-known'],
  ],
  [
    'money is taken after the close at the provider',
    withOrder('closed', (order) => ({ ...order, ledger: { status: 'PAID', isClosed: true, refusedPays: 0 } })),
    ['paid-stays-paid', 'late-payers-refused'],
  ],
  [
    'a late buyer is not turned away',
    withOrder('late', (order) => ({ ...order, ledger: { status: 'OPEN', isClosed: false, refusedPays: 0 } })),
    ['late-payers-refused'],
  ],
  [
    'a late buyer finds the payment open',
    withOrder('late', (order) => ({ ...order, ledger: { status: 'PAID', isClosed: false, refusedPays: 0 } })),
    ['paid-stays-paid', 'late-payers-refused'],
  ],
  ['a piece is missing', stockOf({ onHand: 7, reserved: 0 }), ['stock-exact']],
  ['a piece stays reserved', stockOf({ onHand: 8, reserved: 2 }), ['stock-exact']],
  [
    'the pieces of a paid order are released',
    withOrder('paid', (order) => ({ ...order, reservations: [{ sku: 'tea', quantity: 2, state: 'RELEASED' }] })),
    ['reservations-exact'],
  ],
  [
    'a reservation is missing',
    withOrder('closed', (order) => ({ ...order, reservations: [] })),
    ['reservations-exact'],
  ],
  ['money is at the provider, and nobody knows', withMoney({ claims: [] }), ['money-once']],
  ['one payment pays two orders', withMoney({ claims: [CLAIM, { ...CLAIM, orderId: 'late' }] }), ['money-once']],
  [
    'one payment pays two orders under its two names',
    withMoney({ claims: [CLAIM, { ...CLAIM, orderId: 'late', reference: 't-paid' }] }),
    ['money-once'],
  ],
  [
    'a payment was returned that its order needs',
    withMoney({ ledger: [{ ...ENTRY, refundedAmount: '200' }] }),
    ['money-once'],
  ],
  [
    'a part of a payment was returned that its order needs',
    withMoney({ ledger: [{ ...ENTRY, refundedAmount: '1' }] }),
    ['money-once'],
  ],
  [
    'a payment was returned twice',
    withMoney({ ledger: [{ ...ENTRY, refundedAmount: '400' }], claims: [] }),
    ['money-once'],
  ],
  [
    'a payment was returned, and a row invites to return it again',
    withMoney({ ledger: [{ ...ENTRY, refundedAmount: '200' }], claims: [], openRows: [openRow('late')] }),
    ['money-once'],
  ],
  [
    'a payment pays an order, and a row offers it to another',
    withMoney({ openRows: [openRow('unknown-order')] }),
    ['money-once'],
  ],
  [
    'the provider took more than the order has',
    withMoney({ ledger: [{ ...ENTRY, paidAmount: '250' }] }),
    ['money-once'],
  ],
  [
    'an order keeps a second payment, and nobody knows',
    withMoney({
      ledger: [ENTRY, { ...ENTRY, reference: 'second', transactionId: 't-second' }],
      claims: [CLAIM, { ...CLAIM, reference: 'second' }],
    }),
    ['money-once'],
  ],
  ['money fits no order', { ...soundFacts, unmatchedPayments: [UNMATCHED] }, ['no-unmatched-payment']],
  [
    'an order ends twice',
    withOrder('paid', (order) => ({
      ...order,
      ...(order.stored && { stored: { ...order.stored, version: 4 } }),
      history: [...order.history, { version: 4, from: 'PAID', to: 'CLOSED', cause: 'sweep', occurredAt: 1_000_050 }],
    })),
    ['one-terminal-entry', 'events-delivered'],
  ],
  [
    'the history has a gap',
    withOrder('closed', (order) => ({ ...order, history: order.history.filter(({ version }) => version !== 2) })),
    ['history-gapless', 'events-known'],
  ],
  [
    'the history ends before the order does',
    withOrder('closed', (order) => ({ ...order, ...(order.stored && { stored: { ...order.stored, version: 4 } }) })),
    ['history-gapless'],
  ],
  [
    'the history jumps',
    withOrder('closed', (order) => ({
      ...order,
      history: order.history.map((entry) => (entry.version === 3 ? { ...entry, from: 'PENDING' } : entry)),
    })),
    ['history-gapless'],
  ],
  ['an event is lost', { ...soundFacts, events: otherEvents }, ['events-delivered']],
  [
    'an event is sent under two ids',
    { ...soundFacts, events: [...soundFacts.events, { ...eventOrFail(), id: 'another' }] },
    ['events-delivered'],
  ],
  [
    'an event tells of a transition that was rolled back',
    { ...soundFacts, events: [...soundFacts.events, { ...eventOrFail(), id: 'another', orderVersion: 9 }] },
    ['events-known'],
  ],
  ['an event stays in the outbox', { ...soundFacts, outboxRows: 1 }, ['nothing-left']],
  ['a timeout stays', { ...soundFacts, pendingTimeouts: 1 }, ['nothing-left']],
  ['a timeout is parked', { ...soundFacts, parkedTimeouts: ['order.payment closed: gave up'] }, ['nothing-parked']],
  ['a message is parked', { ...soundFacts, parkedMessages: [TOO_LATE] }, ['nothing-parked']],
  ['an order is there without its basket', { ...soundFacts, baskets: [] }, ['same-transaction']],
  ['a basket is there without its order', { ...soundFacts, baskets: ['paid', 'lost'] }, ['same-transaction']],
  [
    'the order of a rolled back transaction is there',
    { ...soundFacts, unplannedOrders: ['paid-rolled-back'] },
    ['same-transaction'],
  ],
];

function stockOf(level: { onHand: number; reserved: number }): Facts {
  return { ...soundFacts, stock: [{ sku: 'tea', initial: 10, ...level }] };
}

function withMoney(money: Partial<MoneyFacts>): Facts {
  return { ...soundFacts, money: { ...soundFacts.money, ...money } };
}

function eventOrFail(): Facts['events'][number] {
  if (!firstEvent) throw new Error('the sound facts have no events');
  return firstEvent;
}

describe('the checks of the demo', () => {
  it('all hold when everything went as it must', () => {
    expect(failing(soundFacts)).toEqual([]);
  });

  it.each(VIOLATIONS)('notice that %s', (_, facts, noticing) => {
    expect(failing(facts)).toEqual(noticing);
  });

  it('are each seen to fail', () => {
    const seen = new Set(VIOLATIONS.flatMap(([, , noticing]) => noticing));
    expect(INVARIANTS.map(({ name }) => name).filter((name) => !seen.has(name))).toEqual([]);
  });

  it('name the order', () => {
    const [violation] = check(
      INVARIANTS,
      withOrder('closed', (order) => movedBy(order, 2, -6)),
    ).flatMap(({ violations }) => violations);
    expect(violation).toBe('closed became CLOSING 1 ms early');
  });

  it.each<[string, Partial<MoneyFacts>]>([
    ['was returned', { ledger: [{ ...ENTRY, refundedAmount: '200' }], claims: [] }],
    ['waits for a person', { claims: [], openRows: [openRow('late')] }],
    [
      'is too much, and waits for a person',
      {
        ledger: [{ ...ENTRY, paidAmount: '250' }],
        claims: [{ ...CLAIM, amount: '250' }],
        openRows: [openRow('overpaid')],
      },
    ],
    [
      'is that of another merchant who uses the same reference',
      {
        ledger: ['a', 'b'].map((merchantAccount) => ({ ...ENTRY, merchantAccount, transactionId: merchantAccount })),
        claims: ['a', 'b'].map((merchantAccount) => ({ ...CLAIM, merchantAccount, orderId: merchantAccount })),
      },
    ],
  ])('are content with money that %s', (_, money) => {
    expect(failing(withMoney(money))).toEqual([]);
  });

  it('do not count repeated deliveries of the same event id against the service', () => {
    const events = soundFacts.events.map((event) => ({ ...event, deliveries: 3 }));
    expect(failing({ ...soundFacts, events })).toEqual([]);
  });

  it('allow 40 s, and not more, where the provider was in trouble', () => {
    const troubled = (lateMs: number): Facts =>
      withOrder('closed', (order) => ({
        ...movedBy(order, 3, lateMs - 30),
        plan: {
          ...order.plan,
          payment: { faults: [{ fault: 'latency', ms: 1, phase: 'before-effect' }] },
        },
      }));
    expect(failing(troubled(40_000))).toEqual([]);
    expect(failing(troubled(40_001))).toEqual(['in-time']);
  });

  it('take the money of a late buyer only where the order is paid for it', () => {
    const ledger = { status: 'PAID', isClosed: false, refusedPays: 0 };
    const paid = withOrder('late', (order) => ({ ...ending(order, 'PAID'), ledger }));
    const closed = withOrder('late', (order) => ({ ...ending(order, 'CLOSED'), ledger }));
    expect(failing(paid)).not.toContain('late-payers-refused');
    expect(failing(closed)).toContain('late-payers-refused');
  });

  it('take "too late" for an answer where the service was dead, and nothing else', () => {
    const tooLate = { ...soundFacts, refusals: [TOO_LATE], parkedMessages: [TOO_LATE], wasKilled: true };
    expect(failing(tooLate)).toEqual([]);
    expect(failing({ ...tooLate, refusals: [{ ...TOO_LATE, code: 'NO_ANSWER' }] })).toEqual(['all-placed']);
  });

  it('take a cancellation that the dead service heard of too late for closed', () => {
    const closed = withOrder('closed', (order) => ({
      ...order,
      plan: { ...order.plan, group: 'cancels', action: { type: 'cancel', atMs: 500 } },
    }));
    expect(failing(closed)).toEqual(['unpaid-not-paid']);
    expect(failing({ ...closed, wasKilled: true })).toEqual([]);
  });

  it('take a payment that was reported before its order came out of the queue', () => {
    const reported = withOrder('paid', (order) => ({ ...order, plan: { ...order.plan, channel: 'amqp' } }));
    const event = { id: 'late', type: 'order.payment_late', orderId: 'paid', orderVersion: 0, deliveries: 1 };
    const early: Facts = {
      ...{ ...reported, baskets: [], unmatchedPayments: [UNMATCHED] },
      events: [...soundFacts.events, event],
    };
    expect(failing(early)).toEqual([]);
    expect(failing({ ...early, unmatchedPayments: [{ ...UNMATCHED, reason: 'late' }] })).toEqual([
      'no-unmatched-payment',
      'events-known',
    ]);
  });

  it('leave an order to its buyer who cancels before the deadline', () => {
    const cancelled = withOrder('closed', (order) => ({
      ...ending(movedBy(movedBy(order, 2, -1_000), 3, -1_000), 'CANCELLED'),
      plan: { ...order.plan, group: 'cancels', action: { type: 'cancel', atMs: 500 } },
    }));
    const byShop = cancelled.orders.map((order) => ({
      ...order,
      history: order.history.map((entry) => (entry.to === 'CLOSING' ? { ...entry, cause: 'api' } : entry)),
    }));
    const events = cancelled.events.map((event) =>
      event.id === 'closed-3' ? { ...event, type: 'order.cancelled' } : event,
    );
    expect(failing({ ...cancelled, orders: byShop, events })).toEqual([]);
  });

  it('leave out what is about events if there is no broker', () => {
    const without = check(INVARIANTS, { ...soundFacts, hasBroker: false, events: [] });
    expect(without.filter(({ holds }) => !holds)).toEqual([]);
    const checked = without.map(({ name }) => name);
    const left = INVARIANTS.map(({ name }) => name).filter((name) => !checked.includes(name));
    expect(left).toEqual(['events-delivered', 'events-known']);
  });
});
