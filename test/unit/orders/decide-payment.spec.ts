import { decidePayment } from '../../../src/orders/decide-payment';
import { ORDER_STATUSES, type OrderStatus } from '../../../src/orders/order-status';
import { attempt, order, paid } from './orders';

describe('what a reported payment means', () => {
  const EXPECTED: Record<OrderStatus, [fresh: string, booked: string]> = {
    PENDING: ['pay', 'pay'],
    CLOSING: ['pay', 'pay'],
    CLOSED: ['late', 'late'],
    CANCELLED: ['late', 'late'],
    PAID: ['surplus', 'already-paid'],
    REFUNDING: ['late', 'late'],
    CLOSED_REFUNDED: ['late', 'late'],
  };

  it.each(ORDER_STATUSES)('of an order that is %s', (status) => {
    const [fresh, booked] = EXPECTED[status];
    expect(decidePayment(order({ status, attempts: [attempt()] }), paid()).type).toBe(fresh);
    expect(decidePayment(order({ status, attempts: [paid()] }), paid()).type).toBe(booked);
  });

  it('of an attempt that nobody had registered', () => {
    expect(decidePayment(order(), paid({ reference: 'new' }))).toEqual({ type: 'pay', surplus: [] });
  });

  it.each([
    [{ paidAmount: 99n }, { type: 'insufficient', reason: 'amount-mismatch' }],
    [{ paidCurrency: 'USD' }, { type: 'insufficient', reason: 'currency-mismatch' }],
    [{ paidAmount: 101n }, { type: 'pay', surplus: [] }],
  ])('when it is %j', (overrides, expected) => {
    expect(decidePayment(order({ attempts: [attempt()] }), paid(overrides))).toEqual(expected);
  });

  it('when it completes an earlier part', () => {
    const part = paid({ reference: 'part', paidAmount: 30n });
    expect(decidePayment(order({ attempts: [part] }), paid({ paidAmount: 70n }))).toMatchObject({ type: 'pay' });
  });
});
