import fc from 'fast-check';
import { SimulatedPayment } from '../../../packages/payment-simulator/src/simulated-payment';
import { paymentInput, type PaymentInput } from '../../../packages/payment-simulator/src/simulator-input';

const CREATED = Date.UTC(2026, 0, 1);

function paid(input: Partial<PaymentInput> = {}) {
  const events: string[] = [];
  const terms = paymentInput.parse({ reference: 'r', amount: 100, currency: 'EUR', ...input });
  const one = new SimulatedPayment(terms, CREATED, {
    happened: (_, event) => events.push(event),
    planned: () => undefined,
  });
  one.pay(CREATED);
  return { one, events };
}

describe('a refund of a SimulatedPayment', () => {
  it('refunds the full amount once, however often the number is repeated', () => {
    const { one, events } = paid();
    expect(one.refund(CREATED + 1, { number: 'n', amount: 100n })).toBe('accepted');
    expect(one.refund(CREATED + 2, { number: 'n', amount: 100n })).toBe('accepted');
    expect(one.entry(CREATED + 3)).toMatchObject({
      status: 'REFUNDED',
      refundedAmount: '100',
      refundedAt: new Date(CREATED + 1).toISOString(),
      refunds: [{ number: 'n', refundId: 'sim-refund-n', amount: '100', status: 'REFUNDED', reason: null }],
    });
    expect(events).toEqual(['paid', 'refunded']);
  });

  it('may fail after it was completed, which brings the money back, and is not tried again', () => {
    const { one, events } = paid();
    expect(one.failRefund(CREATED)).toBe(false);
    one.refund(CREATED + 1, { number: 'n', amount: 100n });
    expect(one.failRefund(CREATED + 2)).toBe(true);
    expect(one.entry(CREATED + 3)).toMatchObject({
      ...{ status: 'PAID', refundedAmount: '0', refundedAt: null },
      refunds: [{ number: 'n', status: 'FAILED', refundedAt: null }],
    });
    expect(one.refund(CREATED + 4, { number: 'n', amount: 100n })).toBe('rejected');
    expect(one.refund(CREATED + 4, { number: 'other', amount: 100n })).toBe('accepted');
    expect(events).toEqual(['paid', 'refunded', 'refund-failed', 'refunded']);
  });

  it('leaves the payment PAID while part of the money is left', () => {
    const { one } = paid();
    expect(one.refund(CREATED, { number: 'a', amount: 40n })).toBe('accepted');
    expect(one.query(CREATED)).toBe('PAID');
    expect(one.refund(CREATED, { number: 'b', amount: 61n })).toBe('rejected');
    expect(one.refund(CREATED, { number: 'b', amount: 60n })).toBe('accepted');
    expect(one.query(CREATED)).toBe('REFUNDED');
  });

  it('is refused if the number was used for another amount', () => {
    const { one } = paid();
    one.refund(CREATED, { number: 'n', amount: 40n });
    expect(one.refund(CREATED, { number: 'n', amount: 60n })).toBe('rejected');
    expect(one.entry(CREATED)).toMatchObject({ refundedAmount: '40' });
  });

  it('is refused for an unpaid payment', () => {
    const terms = paymentInput.parse({ reference: 'r', amount: 100, currency: 'EUR' });
    const one = new SimulatedPayment(terms, CREATED, { happened: () => undefined, planned: () => undefined });
    expect(one.refund(CREATED, { number: 'n', amount: 1n })).toBe('rejected');
    expect(one.entry(CREATED)).toMatchObject({ refunds: [{ status: 'REJECTED', reason: 'not-paid' }] });
  });

  it('is pending for as long as the script says, and already reduces what is left', () => {
    const { one, events } = paid({ refundProcessingMs: 50 });
    expect(one.refund(CREATED, { number: 'n', amount: 60n })).toBe('pending');
    expect(one.refund(CREATED, { number: 'm', amount: 60n })).toBe('rejected');
    expect(one.refund(CREATED + 49, { number: 'n', amount: 60n })).toBe('pending');
    expect(one.entry(CREATED + 49)).toMatchObject({ refundedAmount: '0' });
    expect(one.refund(CREATED + 50, { number: 'n', amount: 60n })).toBe('accepted');
    expect(events).toEqual(['paid', 'refunded']);
  });

  it('is rejected as many times as the script says, and then works with the same number', () => {
    const { one } = paid({ rejectRefunds: 2 });
    const ask = () => one.refund(CREATED, { number: 'n', amount: 100n });
    expect([ask(), ask(), ask()]).toEqual(['rejected', 'rejected', 'accepted']);
  });

  it('is limited by the amount that was paid, not by the amount of the attempt', () => {
    const { one } = paid({ partialAmount: 30, paidCurrency: 'USD' });
    expect(one.entry(CREATED)).toMatchObject({ amount: '100', paidAmount: '30', paidCurrency: 'USD' });
    expect(one.refund(CREATED, { number: 'n', amount: 31n })).toBe('rejected');
    expect(one.refund(CREATED, { number: 'n', amount: 30n })).toBe('accepted');
    expect(one.query(CREATED)).toBe('REFUNDED');
  });

  it('made directly at the provider refunds what is left, and nothing twice', () => {
    const { one } = paid({ refundProcessingMs: 50, rejectRefunds: 1 });
    one.refund(CREATED, { number: 'n', amount: 1n });
    one.refund(CREATED, { number: 'n', amount: 10n });
    expect(one.refundDirectly(CREATED)).toBe(true);
    expect(one.entry(CREATED)).toMatchObject({ refundedAmount: '90', status: 'PAID' });
    expect(one.refundDirectly(CREATED + 50)).toBe(false);
    expect(one.entry(CREATED + 50)).toMatchObject({ refundedAmount: '100', status: 'REFUNDED' });
  });

  it('never refunds more than was paid, or twice for one number, for any sequence of calls', () => {
    const order = fc.record({
      number: fc.constantFrom('a', 'b', 'c'),
      amount: fc.bigInt({ min: 1n, max: 120n }),
      pause: fc.nat(30),
    });
    fc.assert(
      fc.property(fc.array(order, { maxLength: 12 }), fc.nat(40), (orders, refundProcessingMs) => {
        const { one } = paid({ refundProcessingMs });
        const accepted = new Map<string, bigint>();
        let now = CREATED;
        for (const { pause, ...asked } of orders) {
          now += pause;
          if (one.refund(now, asked) !== 'rejected') accepted.set(asked.number, asked.amount);
        }
        const { refundedAmount } = one.entry(now + 1_000);
        const expected = [...accepted.values()].reduce((sum, amount) => sum + amount, 0n);
        expect(BigInt(refundedAmount)).toBe(expected);
        expect(expected <= 100n).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
