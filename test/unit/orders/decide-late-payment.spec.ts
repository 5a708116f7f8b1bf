import fc from 'fast-check';
import { decideLatePayment } from '../../../src/orders/late/decide-late-payment';
import { ORDER_STATUSES } from '../../../src/orders/order-status';
import { ATTEMPT_STATUSES } from '../../../src/orders/payment-attempt';
import { attempt, order, paid } from './orders';

const REVIVE = { latePayment: 'revive-if-stock', surplusPayment: 'refund' } as const;
const REFUND = { latePayment: 'refund', surplusPayment: 'refund' } as const;
const KEEP = { latePayment: 'keep', surplusPayment: 'keep' } as const;
const one = [paid()];

describe('the decision about money that an order does not need', () => {
  it.each([
    ['CLOSED', REVIVE, 'revive'],
    ['CLOSED', REFUND, 'refund'],
    ['CLOSED', KEEP, 'keep'],
    ['CANCELLED', REVIVE, 'refund'],
    ['CANCELLED', REFUND, 'refund'],
    ['CANCELLED', KEEP, 'keep'],
    ['REFUNDING', REVIVE, 'refund'],
    ['CLOSED_REFUNDED', REVIVE, 'refund'],
    ['CLOSED_REFUNDED', KEEP, 'keep'],
    ['PAID', REFUND, 'nothing'],
    ['PENDING', REFUND, 'nothing'],
    ['CLOSING', REFUND, 'nothing'],
  ] as const)('%s with policy %j: %s', (status, policy, type) => {
    expect(decideLatePayment(order({ status, attempts: one }), policy)).toMatchObject({ type });
  });

  it('refunds a closed order that was paid too little, or in another currency', () => {
    for (const wrong of [{ paidAmount: 99n }, { paidCurrency: 'USD' }]) {
      const closed = order({ status: 'CLOSED', attempts: [paid(wrong)] });
      expect(decideLatePayment(closed, REVIVE)).toMatchObject({ type: 'refund', reason: 'late' });
    }
  });

  it('calls the later of two payments surplus', () => {
    const second = paid({ reference: 'a-2', paidAt: new Date('2026-01-01T13:00:00Z') });
    const both = order({ status: 'PAID', attempts: [second, paid()] });
    expect(decideLatePayment(both, REFUND)).toEqual({ type: 'refund', reason: 'surplus', attempts: [second] });
    expect(decideLatePayment(both, KEEP)).toEqual({ type: 'keep', reason: 'surplus', attempts: [second] });
  });

  it('leaves no money without a place, and touches nothing but paid attempts', () => {
    const attempts = fc.array(
      fc.record({ status: fc.constantFrom(...ATTEMPT_STATUSES), paidAmount: fc.bigInt(1n, 200n) }),
      { maxLength: 5 },
    );
    fc.assert(
      fc.property(attempts, fc.constantFrom(...ORDER_STATUSES), (rows, status) => {
        const all = rows.map(({ status: of, paidAmount }, index) =>
          of === 'PAID'
            ? paid({ reference: `a-${index}`, paidAmount })
            : attempt({ reference: `a-${index}`, status: of }),
        );
        const decision = decideLatePayment(order({ status, attempts: all }), REFUND);
        const taken = decision.type === 'nothing' ? [] : decision.attempts;
        const money = all.filter((candidate) => candidate.status === 'PAID');
        expect(taken.every((candidate) => candidate.status === 'PAID')).toBe(true);
        const isEnded = !['PENDING', 'CLOSING', 'PAID'].includes(status);
        if (isEnded) expect(taken).toHaveLength(money.length);
        if (status === 'PAID') {
          const left = money.filter((candidate) => !taken.includes(candidate));
          const sum = left.reduce((total, candidate) => total + (candidate.paidAmount ?? 0n), 0n);
          const all = money.reduce((total, candidate) => total + (candidate.paidAmount ?? 0n), 0n);
          expect(sum >= (all < 100n ? all : 100n)).toBe(true);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
