import { bookMoney } from '../../../src/orders/model/money';
import { decidePayment } from '../../../src/orders/pay/mark-paid';
import { type LockedOrder, ORDER_STATUSES, type OrderStatus } from '../../../src/orders/model/order';
import { attempt, money, order, paid } from './orders';

describe('the meaning of a reported payment', () => {
  const EXPECTED: Record<OrderStatus, [fresh: string, booked: string]> = {
    PENDING: ['pay', 'pay'],
    CLOSING: ['pay', 'pay'],
    CLOSED: ['late', 'late'],
    CANCELLED: ['late', 'late'],
    PAID: ['surplus', 'already-paid'],
    REFUNDING: ['late', 'late'],
    CLOSED_REFUNDED: ['late', 'late'],
  };
  const decide = (before: LockedOrder, overrides: Parameters<typeof money>[0] = {}) =>
    decidePayment(bookMoney(before, money(overrides)));

  it.each(ORDER_STATUSES)('of an order that is %s', (status) => {
    const [fresh, booked] = EXPECTED[status];
    const before = status === 'PAID' ? [paid({ reference: 'before' }), attempt()] : [attempt()];
    expect(decide(order({ status, attempts: before })).type).toBe(fresh);
    expect(decide(order({ status, attempts: [paid()] })).type).toBe(booked);
  });

  it('of an attempt that was not registered', () => {
    expect(decide(order(), { reference: 'new' })).toEqual({ type: 'pay', surplus: [] });
  });

  it.each([
    [{ amount: 99n }, { type: 'insufficient', reason: 'amount-mismatch' }],
    [{ currency: 'USD' }, { type: 'insufficient', reason: 'currency-mismatch' }],
    [{ amount: 101n }, { type: 'pay', surplus: [] }],
  ])('when it is %j', (overrides, expected) => {
    expect(decide(order({ attempts: [attempt()] }), overrides)).toEqual(expected);
  });

  it('when it is a part beside one in another currency', () => {
    const dollars = paid({ reference: 'dollars', paidCurrency: 'USD' });
    const decided = decide(order({ attempts: [dollars] }), { amount: 40n });
    expect(decided).toEqual({ type: 'insufficient', reason: 'amount-mismatch' });
  });

  it('when it completes a partial payment', () => {
    const part = paid({ reference: 'part', paidAmount: 30n });
    expect(decide(order({ attempts: [part] }), { amount: 70n })).toMatchObject({ type: 'pay' });
  });

  it('when it is the rest for a paid order that has too little', () => {
    const part = paid({ reference: 'part', paidAmount: 30n });
    expect(decide(order({ status: 'PAID', attempts: [part] }), { amount: 70n })).toEqual({ type: 'rest' });
    expect(decide(order({ status: 'PAID', attempts: [part] }), { amount: 100n })).toEqual({ type: 'rest' });
  });

  it('when it is all that a paid order has, because it lost what had paid it', () => {
    const lost = attempt({ reference: 'lost', status: 'DUPLICATE' });
    expect(decide(order({ status: 'PAID', attempts: [lost, attempt()] }))).toEqual({ type: 'rest' });
  });

  it.each(['REFUNDING', 'REFUNDED', 'SETTLED'] as const)('when the money of an open order is %s', (status) => {
    const gone = paid({ status, paidAmount: 40n });
    const decided = decide(order({ attempts: [gone] }), { amount: 40n });
    expect(decided).toEqual({ type: 'insufficient', reason: 'amount-mismatch' });
  });

  it('when the provider took less than a report that has paid the order', () => {
    const reported = order({ status: 'PAID', attempts: [paid({ paidSource: 'report' })] });
    expect(decide(reported, { amount: 60n })).toEqual({ type: 'insufficient', reason: 'amount-mismatch' });
  });
});
