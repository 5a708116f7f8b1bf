import fc from 'fast-check';
import { insufficientParts, moneyReceived } from '../../../src/orders/model/money';
import { heldAmountOf, type OrderStatus, type PaymentAttempt } from '../../../src/orders/model/order';
import { at, attempt, NOW, order, paid } from './orders';

describe('adding up the money of an order', () => {
  it('ignores attempts that are not paid', () => {
    expect(moneyReceived(order(), [attempt(), attempt({ status: 'CLOSED' })])).toEqual({ type: 'nothing' });
  });

  it('treats the later of two full payments as surplus', () => {
    const [first, second] = [paid({ reference: 'b', paidAt: at(-9) }), paid({ reference: 'a', paidAt: at(-3) })];
    expect(moneyReceived(order(), [second, first])).toEqual({ type: 'sufficient', surplus: [second] });
  });

  it('treats a partial payment as surplus after a full payment', () => {
    const [part, full] = [
      paid({ reference: 'a', paidAmount: 50n, paidAt: at(-9) }),
      paid({ reference: 'b', paidAt: at(-3) }),
    ];
    expect(moneyReceived(order(), [part, full])).toEqual({ type: 'sufficient', surplus: [part] });
  });

  it('treats the same one of two payments of the same moment as surplus, in whatever order they are read', () => {
    const [a, b] = [paid({ reference: 'a' }), paid({ reference: 'b' })];
    for (const both of [
      [a, b],
      [b, a],
    ]) {
      expect(moneyReceived(order(), both)).toEqual({ type: 'sufficient', surplus: [b] });
    }
  });

  it('tells of each part for its own reason, whatever the others are', () => {
    const told = (...attempts: PaymentAttempt[]) =>
      insufficientParts(order({ attempts }), { handling: 'kept', now: NOW }).map(
        ({ reference, reason, amount }) => `${reference} ${reason} ${amount}`,
      );
    const [part, dollars] = [paid({ reference: 'a', paidAmount: 50n }), paid({ reference: 'b', paidCurrency: 'USD' })];
    const back = paid({ reference: 'c', status: 'REFUNDING', paidAmount: 10n });
    expect(told(part)).toEqual(['a amount-mismatch 50']);
    expect(told(part, dollars, back)).toEqual(['a amount-mismatch 50', 'b currency-mismatch 100']);
    expect([told(back), told(paid(), dollars)]).toEqual([[], []]);
  });

  it('tells of what a person has settled if a paid order has nothing else', () => {
    const [settled, back] = [paid({ status: 'SETTLED' }), paid({ reference: 'c', status: 'REFUNDING' })];
    const told = (status: OrderStatus, ...attempts: PaymentAttempt[]) =>
      insufficientParts(order({ status, attempts }), { handling: 'kept', now: NOW }).map(({ reason }) => reason);
    expect(told('PAID', settled, back)).toEqual(['amount-mismatch']);
    expect([told('PAID', settled, paid()), told('CLOSING', settled)]).toEqual([[], []]);
  });

  it('counts every payment once: the needed and the surplus ones are all of them', () => {
    const payments = fc.array(
      fc.record({ paidAmount: fc.bigInt({ min: 1n, max: 120n }), paidCurrency: fc.constantFrom('EUR', 'USD') }),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(payments, (list) => {
        const all = list.map((payment, index) => paid({ ...payment, reference: `p-${index}`, paidAt: at(index) }));
        const money = moneyReceived(order(), all);
        const euros = all
          .filter((one) => one.paidCurrency === 'EUR')
          .reduce((sum, one) => sum + (one.paidAmount ?? 0n), 0n);
        expect(money.type === 'sufficient').toBe(euros >= 100n);
        if (money.type !== 'sufficient') return;
        const needed = all.filter((one) => !money.surplus.includes(one));
        const sum = needed.reduce((total, one) => total + (one.paidAmount ?? 0n), 0n);
        expect(needed.every((one) => one.paidCurrency === 'EUR')).toBe(true);
        expect(sum >= 100n).toBe(true);
        expect(needed.every((one) => sum - (one.paidAmount ?? 0n) < 100n)).toBe(true);
      }),
    );
  });

  it('has the excess in a payment without one refunded before, in whatever order payments arrive', () => {
    const arrivals = fc.array(fc.record({ amount: fc.bigInt({ min: 1n, max: 150n }), age: fc.integer({ max: 9 }) }), {
      maxLength: 9,
    });
    fc.assert(
      fc.property(arrivals, (list) => {
        let held: PaymentAttempt[] = [];
        for (const [index, { amount, age }] of list.entries()) {
          held.push(paid({ reference: `p-${index}`, paidAmount: amount, paidAt: at(age) }));
          const money = moneyReceived(order(), held);
          if (money.type !== 'sufficient') continue;
          const { surplus, overpaid } = money;
          expect(overpaid?.attempt.refundedAmount ?? 0n).toBe(0n);
          // Both are refunded at once.
          held = held
            .filter((one) => !surplus.includes(one))
            .map((one) => (one === overpaid?.attempt ? { ...one, refundedAmount: overpaid.excess } : one));
          expect(held.reduce((sum, one) => sum + heldAmountOf(one), 0n)).toBe(100n);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
