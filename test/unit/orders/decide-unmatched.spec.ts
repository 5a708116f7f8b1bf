import fc from 'fast-check';
import {
  decideUnmatched as decide,
  mayRefundExcess,
  type UnmatchedPolicy,
} from '../../../src/orders/unmatched/handle-unmatched';
import {
  type LockedOrder,
  ORDER_STATUSES,
  type PaymentAttempt,
  ATTEMPT_STATUSES,
} from '../../../src/orders/model/order';
import { attempt, order, paid } from './orders';

const REVIVE = { latePayment: 'revive-if-stock', surplusPayment: 'refund' } as const;
const REFUND = { latePayment: 'refund', surplusPayment: 'refund' } as const;
const KEEP = { latePayment: 'keep', surplusPayment: 'keep' } as const;
const one = [paid()];
const later = new Date('2026-01-01T13:00:00Z');

const decideUnmatched = (subject: LockedOrder, policy: UnmatchedPolicy, verified = false) =>
  decide(subject, policy, { verified });
const nothing = { refunds: [], kept: [], unverified: [] };

describe('the decision about money that an order does not need', () => {
  it.each([
    ['CLOSED', REVIVE, { type: 'revive' }],
    ['CLOSED', REFUND, { refunds: one }],
    ['CLOSED', KEEP, { kept: one }],
    ['CANCELLED', REVIVE, { refunds: one }],
    ['CANCELLED', REFUND, { refunds: one }],
    ['CANCELLED', KEEP, { kept: one }],
    ['REFUNDING', REVIVE, { refunds: one }],
    ['CLOSED_REFUNDED', REVIVE, { refunds: one }],
    ['CLOSED_REFUNDED', KEEP, { kept: one }],
    ['PAID', REFUND, { type: 'nothing' }],
    ['PENDING', REFUND, { type: 'nothing' }],
    ['CLOSING', REFUND, { type: 'nothing' }],
  ] as const)('%s with policy %j', (status, policy, expected) => {
    expect(decideUnmatched(order({ status, attempts: one }), policy)).toMatchObject(expected);
  });

  it('refunds a closed order that was paid in part or in another currency', () => {
    for (const wrong of [{ paidAmount: 99n }, { paidCurrency: 'USD' }]) {
      const closed = order({ status: 'CLOSED', attempts: [paid(wrong)] });
      expect(decideUnmatched(closed, REVIVE)).toMatchObject({ refunds: [wrong], reason: 'late' });
    }
  });

  it('treats the later of two payments as surplus', () => {
    const second = paid({ reference: 'a-2', paidAt: later });
    const both = order({ status: 'PAID', attempts: [second, paid()] });
    expect(decideUnmatched(both, REFUND)).toMatchObject({ ...nothing, refunds: [second], reason: 'surplus' });
    expect(decideUnmatched(both, KEEP)).toMatchObject({ ...nothing, kept: [second], reason: 'surplus' });
  });

  it('looks up a reported payment before refunding it, and keeps it in doubt', () => {
    const reported = [paid({ paidSource: 'report' })];
    const closed = order({ status: 'CLOSED', attempts: reported });
    expect(decideUnmatched(closed, REFUND)).toMatchObject({ ...nothing, unverified: reported });
    expect(decideUnmatched(closed, REFUND, true)).toMatchObject({ ...nothing, kept: reported });
  });

  it('never refunds an unregistered payment automatically', () => {
    const foreign = [paid({ registered: false })];
    const closed = order({ status: 'CLOSED', attempts: foreign });
    expect(decideUnmatched(closed, REFUND)).toMatchObject({ ...nothing, kept: foreign });
  });

  it('treats a report as surplus before a confirmed payment, whichever came first', () => {
    const reported = paid({ reference: 'a-2', paidSource: 'report' });
    const confirmed = paid({ paidAt: later });
    const both = order({ status: 'PAID', attempts: [reported, confirmed] });
    expect(decideUnmatched(both, REFUND)).toMatchObject({ ...nothing, unverified: [reported] });
  });

  it('treats nothing as surplus because of a report alone', () => {
    const reported = paid({ reference: 'a-2', paidAmount: 100n, paidSource: 'report' });
    const part = paid({ paidAmount: 60n });
    const both = order({ status: 'PAID', attempts: [reported, part] });
    expect(decideUnmatched(both, REFUND)).toMatchObject({ ...nothing, unverified: [part] });
    expect(decideUnmatched(both, REFUND, true)).toMatchObject({ ...nothing, kept: [part] });
  });

  it('is in no doubt about a report that pays the order alone, but about one that pays it with others', () => {
    const reported = (paidAmount: bigint) => paid({ reference: 'a-2', paidAmount, paidSource: 'report' });
    expect(decideUnmatched(order({ status: 'PAID', attempts: [reported(100n)] }), REFUND)).toEqual({ type: 'nothing' });
    const both = order({ status: 'PAID', attempts: [paid({ paidAmount: 60n }), reported(60n)] });
    expect(decideUnmatched(both, REFUND)).toMatchObject({ ...nothing, unverified: [{ reference: 'a-2' }] });
    expect(decideUnmatched(both, REFUND, true)).toEqual({ type: 'nothing' });
  });

  it('leaves every payment of an erased order to a person, because its earlier payments are forgotten', () => {
    const erased = { isErased: true, attempts: one };
    for (const status of ['CLOSED', 'CANCELLED', 'CLOSED_REFUNDED'] as const) {
      expect(decideUnmatched(order({ status, ...erased }), REVIVE)).toMatchObject({ ...nothing, kept: one });
    }
    const second = paid({ reference: 'a-2', paidAt: later });
    const both = order({ status: 'PAID', isErased: true, attempts: [...one, second] });
    expect(decideUnmatched(both, REFUND)).toMatchObject({ ...nothing, kept: [second] });
  });

  it('has nothing to decide about an ended order without money', () => {
    expect(decideUnmatched(order({ status: 'CLOSED', attempts: [attempt()] }), REFUND)).toEqual({ type: 'nothing' });
  });

  it('looks up two reports together, because both may be too low', () => {
    const reports = ['a-1', 'a-2'].map((reference) => paid({ reference, paidAmount: 80n, paidSource: 'report' }));
    const both = order({ status: 'PAID', attempts: reports });
    expect(decideUnmatched(both, REFUND)).toMatchObject({ ...nothing, unverified: reports });
    expect(decideUnmatched(both, REFUND, true)).toEqual({ type: 'nothing' });
    const full = reports.map((one) => ({ ...one, paidAmount: 100n }));
    expect(decideUnmatched(order({ status: 'PAID', attempts: full }), REFUND)).toMatchObject({ unverified: full });
  });

  it('refunds the excess only if the policy says so and the provider confirms all that pays the order', () => {
    const may = (attempts: readonly PaymentAttempt[], overrides: Partial<LockedOrder> = {}) =>
      mayRefundExcess(order({ status: 'PAID', attempts, ...overrides }), { overpayment: 'refund-excess' });
    const [more, part] = [paid({ paidAmount: 60n, reference: 'a-2' }), paid({ paidAmount: 60n })];
    expect(may([part, more])).toBe(true);
    expect(may([part, { ...more, paidSource: 'report' }])).toBe(false);
    expect(may([part, { ...more, registered: false }])).toBe(false);
    expect(may([part, more], { isErased: true })).toBe(false);
    expect(mayRefundExcess(order({ status: 'PAID', attempts: [part, more] }), { overpayment: 'keep' })).toBe(false);
    // What is not needed does not count: it has a decision of its own.
    expect(may([paid({ paidAmount: 120n }), { ...more, paidSource: 'report' }])).toBe(true);
  });

  it('accounts for all money, and changes paid attempts only', () => {
    const attempts = fc.array(
      fc.record({
        status: fc.constantFrom(...ATTEMPT_STATUSES),
        paidAmount: fc.bigInt(1n, 200n),
        paidSource: fc.constantFrom('report' as const, 'provider' as const),
        registered: fc.boolean(),
      }),
      { maxLength: 5 },
    );
    fc.assert(
      fc.property(attempts, fc.constantFrom(...ORDER_STATUSES), fc.boolean(), (rows, status, verified) => {
        const all = rows.map(({ status: of, ...rest }, index) =>
          of === 'PAID' ? paid({ reference: `a-${index}`, ...rest }) : attempt({ reference: `a-${index}`, status: of }),
        );
        const decision = decideUnmatched(order({ status, attempts: all }), REFUND, verified);
        const parts = decision.type === 'refund' ? [decision.refunds, decision.kept, decision.unverified] : [];
        const taken = decision.type === 'revive' ? decision.attempts : parts.flat();
        const money = all.filter((candidate) => candidate.status === 'PAID');
        expect(taken.every((candidate) => candidate.status === 'PAID')).toBe(true);
        const isEnded = !['PENDING', 'CLOSING', 'PAID'].includes(status);
        if (isEnded) expect(taken).toHaveLength(money.length);
        for (const back of parts[0] ?? []) expect(back).toMatchObject({ registered: true, paidSource: 'provider' });
        if (verified) expect(parts[2] ?? []).toEqual([]);
        if (status === 'PAID') {
          const gone = [...(parts[0] ?? []), ...(parts[1] ?? [])];
          const left = money.filter((candidate) => !gone.includes(candidate));
          const sum = left.reduce((total, candidate) => total + (candidate.paidAmount ?? 0n), 0n);
          const all = money.reduce((total, candidate) => total + (candidate.paidAmount ?? 0n), 0n);
          expect(sum >= (all < 100n ? all : 100n)).toBe(true);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
