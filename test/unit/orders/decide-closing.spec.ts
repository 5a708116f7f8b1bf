import {
  decideClosing,
  decideWithoutOpenAttempts,
  isDue,
  type PartialPolicy,
  refundsOfCancellation,
} from '../../../src/orders/model/plan-closing';
import { ORDER_STATUSES, type OrderStatus } from '../../../src/orders/model/order';
import { at, attempt, NOW, order, paid } from './orders';

const PAYMENTS = {
  none: [],
  closed: [attempt({ status: 'CLOSED' })],
  created: [attempt({ status: 'CREATED' })],
  open: [attempt()],
  unknown: [attempt({ status: 'UNKNOWN' })],
  paid: [paid()],
  'paid and open': [paid(), attempt({ reference: 'a-2' })],
  'paid in part': [paid({ paidAmount: 99n })],
  'paid in part and open': [paid({ paidAmount: 99n }), attempt({ reference: 'a-2' })],
  'paid in dollars': [paid({ paidCurrency: 'USD' })],
  'paid in two parts': [paid({ paidAmount: 60n }), paid({ paidAmount: 40n, reference: 'a-2' })],
} as const;
type Payment = keyof typeof PAYMENTS;

describe('the first decision about a due order', () => {
  const decide = (status: OrderStatus, payment: Payment, overrides: Parameters<typeof order>[0] = {}) =>
    decideClosing(order({ status, attempts: PAYMENTS[payment], ...overrides }), NOW, 'park');

  it.each<[OrderStatus, Payment, object]>([
    ['PENDING', 'none', { type: 'close', to: 'CLOSED' }],
    ['PENDING', 'closed', { type: 'close', to: 'CLOSED' }],
    ['PENDING', 'created', { type: 'look-up', entersClosing: true }],
    ['PENDING', 'open', { type: 'look-up', entersClosing: true }],
    ['PENDING', 'unknown', { type: 'look-up', entersClosing: true }],
    ['PENDING', 'paid', { type: 'pay' }],
    ['PENDING', 'paid and open', { type: 'pay' }],
    ['PENDING', 'paid in part', { type: 'look-up', entersClosing: false }],
    ['PENDING', 'paid in part and open', { type: 'look-up', entersClosing: true }],
    ['PENDING', 'paid in dollars', { type: 'look-up', entersClosing: false }],
    ['PENDING', 'paid in two parts', { type: 'pay' }],
    ['CLOSING', 'none', { type: 'close', to: 'CLOSED' }],
    ['CLOSING', 'closed', { type: 'close', to: 'CLOSED' }],
    ['CLOSING', 'created', { type: 'look-up', entersClosing: false }],
    ['CLOSING', 'open', { type: 'look-up', entersClosing: false }],
    ['CLOSING', 'unknown', { type: 'look-up', entersClosing: false }],
    ['CLOSING', 'paid', { type: 'pay' }],
    ['CLOSING', 'paid and open', { type: 'pay' }],
    ['CLOSING', 'paid in part', { type: 'look-up', entersClosing: false }],
    ['CLOSING', 'paid in part and open', { type: 'look-up', entersClosing: false }],
    ['CLOSING', 'paid in dollars', { type: 'look-up', entersClosing: false }],
    ['CLOSING', 'paid in two parts', { type: 'pay' }],
    ['PAID', 'paid', { type: 'terminal' }],
    ['PAID', 'paid and open', { type: 'look-up', entersClosing: false }],
  ])('%s with payment %s: %j', (status, payment, expected) => {
    expect(decide(status, payment)).toMatchObject(expected);
  });

  const DECIDED = ORDER_STATUSES.filter((status) => !['PENDING', 'CLOSING', 'PAID'].includes(status));
  it.each(
    DECIDED.flatMap((status) => (Object.keys(PAYMENTS) as Payment[]).map((payment) => [status, payment] as const)),
  )('%s with payment %s is not changed', (status, payment) => {
    expect(decide(status, payment)).toEqual({ type: 'terminal' });
  });

  it('ends a canceled order as CANCELLED', () => {
    expect(decide('CLOSING', 'closed', { closingReason: 'cancelled' })).toEqual({
      type: 'close',
      to: 'CANCELLED',
      returns: [],
    });
  });

  it.each([
    ['at the exact millisecond of the deadline', { expiresAt: NOW }, { type: 'close', to: 'CLOSED', returns: [] }],
    ['one millisecond early', { expiresAt: at(1) }, { type: 'not-due', dueAt: at(1) }],
    ['within the grace', { graceMs: 1_001 }, { type: 'not-due', dueAt: at(1) }],
    ['at the end of the grace', { graceMs: 1_000 }, { type: 'close', to: 'CLOSED', returns: [] }],
    ['with auto-close off', { autoClose: false }, { type: 'opted-out' }],
  ])('%s: %j', (_, overrides, expected) => {
    expect(decide('PENDING', 'none', overrides)).toEqual(expected);
  });

  it('continues closing, whatever happens to deadline and auto-close after it has begun', () => {
    const moved = { expiresAt: at(60_000), autoClose: false };
    expect(decide('CLOSING', 'open', moved)).toEqual({ type: 'look-up', entersClosing: false });
  });

  it('asks the provider about a part, whose rest may have come, and stops new attempts only if it would close', () => {
    const report = paid({ paidAmount: 99n, paidSource: 'report' });
    for (const attempts of [[report], PAYMENTS['paid in part'], PAYMENTS['paid in dollars']]) {
      const asks = (status: OrderStatus, partial: PartialPolicy) =>
        decideClosing(order({ status, attempts }), NOW, partial);
      expect(asks('PENDING', 'refund-and-close')).toEqual({ type: 'look-up', entersClosing: true });
      expect(asks('PENDING', 'park')).toEqual({ type: 'look-up', entersClosing: false });
      expect(asks('CLOSING', 'refund-and-close')).toEqual({ type: 'look-up', entersClosing: false });
    }
  });

  it.each([
    ['has all that it asks for', { amount: 99n }],
    ['was registered by nobody', { registered: false }],
    ['was given to the order by a person', { assigned: true }],
    ['was erased', { reference: 'erased:1' }],
  ])('asks nobody about a part whose attempt %s', (_, overrides) => {
    const attempts = [paid({ paidAmount: 99n, ...overrides })];
    expect(decideClosing(order({ attempts }), NOW, 'park')).toMatchObject({ type: 'park' });
  });
});

describe('the end of an order without open attempts', () => {
  it('closes an order that is paid in part, and refunds the part, if the policy says so', () => {
    const part = order({ attempts: PAYMENTS['paid in part'] });
    const returns = PAYMENTS['paid in part'];
    expect(decideWithoutOpenAttempts(part, 'refund-and-close')).toEqual({ type: 'close', to: 'CLOSED', returns });
  });

  it('refunds the part of a canceled order, whatever the policy is, unless the part is disputed', () => {
    const returns = PAYMENTS['paid in part'];
    const canceled = order({ status: 'CLOSING', closingReason: 'cancelled', attempts: returns });
    const end = { type: 'close', to: 'CANCELLED', returns };
    expect(decideWithoutOpenAttempts(canceled, 'park')).toEqual(end);
    expect(decideWithoutOpenAttempts(canceled, 'refund-and-close')).toEqual(end);
    expect(decideWithoutOpenAttempts(canceled, 'keep')).toMatchObject({ type: 'park' });
  });

  it('leaves a part to a person if nobody registered its attempt, although the provider confirms it', () => {
    const attempts = [paid({ paidAmount: 99n, registered: false })];
    for (const status of ['PENDING', 'CLOSING'] as const) {
      expect(decideWithoutOpenAttempts(order({ status, attempts }), 'refund-and-close')).toEqual({
        type: 'park',
        reason: expect.stringContaining('no attempt was registered for the payment a-1 of fake') as string,
      });
    }
    const both = [paid({ paidAmount: 49n }), ...attempts.map((one) => ({ ...one, paidAmount: 50n, reference: 'a-2' }))];
    expect(decideWithoutOpenAttempts(order({ attempts: both }), 'refund-and-close')).toMatchObject({ type: 'park' });
  });

  it('refunds what is paid, and nothing else, when it closes an order that is paid in part', () => {
    const [part, closed] = [paid({ paidAmount: 99n }), attempt({ reference: 'a-2', status: 'CLOSED' })];
    const returned = paid({ reference: 'a-3', status: 'REFUNDED' });
    const mixed = order({ attempts: [closed, part, returned] });
    expect(decideWithoutOpenAttempts(mixed, 'refund-and-close')).toEqual({
      type: 'close',
      to: 'CLOSED',
      returns: [part],
    });
  });

  it('names amount and remedy when it parks', () => {
    const decide = (payment: Payment) => decideWithoutOpenAttempts(order({ attempts: PAYMENTS[payment] }), 'park');
    expect(decide('paid in part')).toMatchObject({
      reason: expect.stringMatching(/paid 99 EUR of 100 EUR, in minor units; refund/) as string,
    });
    expect(decide('paid in dollars')).toMatchObject({
      reason: expect.stringContaining('100 USD') as string,
    });
  });
});

describe('the refunds of a cancellation', () => {
  const refundsOf = (payment: Payment) => refundsOfCancellation(order({ attempts: PAYMENTS[payment] }));

  it('are none for an order without money, and the part for one that is paid in part', () => {
    expect(refundsOf('closed')).toEqual([]);
    expect(refundsOf('paid in part')).toEqual(PAYMENTS['paid in part']);
  });

  it('do not exist for an order that is paid, or whose part only a report vouches for: it is not canceled', () => {
    expect(refundsOf('paid')).toBeUndefined();
    expect(refundsOf('paid in two parts')).toBeUndefined();
    const reported = [paid({ paidAmount: 99n, paidSource: 'report' })];
    expect(refundsOfCancellation(order({ attempts: reported }))).toBeUndefined();
  });
});

describe('an order that confirmed money names, which waits for a person', () => {
  const waiting = [{ provider: 'fake', reference: 'early' }];

  it.each<Payment>(['closed', 'paid in part'])('does not end: %s', (payment) => {
    const named = order({ attempts: PAYMENTS[payment], waiting });
    const reason = expect.stringContaining('payment early, which waits for a person') as string;
    expect(decideWithoutOpenAttempts(named, 'refund-and-close')).toEqual({ type: 'park', reason });
    expect(refundsOfCancellation(named)).toBeUndefined();
  });

  it('is paid by its own', () => {
    expect(decideClosing(order({ attempts: PAYMENTS.paid, waiting }), NOW, 'park')).toEqual({ type: 'pay' });
  });
});

describe('an order', () => {
  it.each<[boolean, string, Parameters<typeof order>[0]]>([
    [true, 'at its deadline', { expiresAt: NOW }],
    [false, 'a millisecond before', { expiresAt: at(1) }],
    [false, 'within its grace', { graceMs: 1_001 }],
    [false, 'with auto-close off', { autoClose: false }],
    [true, 'that is closing, whatever its deadline', { status: 'CLOSING', expiresAt: at(60_000), autoClose: false }],
    [false, 'that is paid', { status: 'PAID' }],
    [false, 'that is closed', { status: 'CLOSED' }],
  ])('is due: %s, %s', (expected, _, overrides) => {
    expect(isDue(order(overrides), NOW)).toBe(expected);
  });
});
