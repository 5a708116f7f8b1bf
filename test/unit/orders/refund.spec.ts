import fc from 'fast-check';
import { decideCheck, decideRefund, type RefundAnswer } from '../../../src/orders/unmatched/refunds';
import { nextWatchAt, planWatch } from '../../../src/orders/unmatched/payment-watch';
import { refundNumber, refundOf, refundOfExcess } from '../../../src/orders/model/unmatched-money';
import { at, attempt, NOW, paid, PAID_OUTCOME } from './orders';

describe('a refund', () => {
  it('always has the same number, which differs for every attempt and fits every provider', () => {
    const key = fc.record({ provider: fc.string({ minLength: 1 }), reference: fc.string({ minLength: 1 }) });
    fc.assert(
      fc.property(key, key, (a, b) => {
        expect(refundNumber(a)).toMatch(/^[0-9a-f]{32}$/);
        expect(refundNumber({ ...a })).toBe(refundNumber(a));
        const isSame = a.provider === b.provider && a.reference === b.reference;
        expect(refundNumber(a) === refundNumber(b)).toBe(isSame);
      }),
    );
    // Pinned: if the number of an old attempt changed, its money would be refunded twice.
    expect(refundNumber({ provider: 'alipay', reference: 'order-1' })).toBe('52144d66ed03dd2ce9beb4c8cac7d606');
  });

  it('has another number for an equal reference of another merchant', () => {
    const key = { provider: 'alipay', reference: 'order-1' };
    const numbers = [null, 'm-1', 'm-2'].map((merchantAccount) => refundNumber({ ...key, merchantAccount }));
    expect(new Set(numbers).size).toBe(3);
    expect(numbers[0]).toBe(refundNumber(key));
  });

  it('needs the amount and the currency that were paid', () => {
    for (const missing of [{ paidAmount: null }, { paidCurrency: null }]) {
      expect(() => refundOf(paid(missing), 'late')).toThrow('has no payment to refund');
    }
  });

  it('is for the whole paid amount, which may differ from the requested amount', () => {
    expect(refundOf(paid({ paidAmount: 120n }), 'late')).toMatchObject({
      amount: 120n,
      currency: 'EUR',
      reason: 'late',
    });
    expect(() => refundOf(attempt(), 'late')).toThrow('has no payment to refund');
  });

  it('of an excess has a number that no other refund has, and leaves the rest', () => {
    const key = { provider: 'alipay', reference: 'order-1' };
    expect(refundNumber(key, 'excess')).toBe('c10ebee9b6235d0353fcccb47c1a5d2b');
    expect(refundNumber(key, 'excess')).not.toBe(refundNumber({ ...key, merchantAccount: 'excess' }));
    const refund = refundOfExcess(paid({ paidAmount: 120n }), 20n);
    expect(refund).toMatchObject({ number: refundNumber(paid(), 'excess'), amount: 20n, reason: 'overpaid' });
    expect(refundOf(paid({ paidAmount: 120n, refundedAmount: 20n }), 'operator')).toMatchObject({ amount: 100n });
  });

  it.each<[RefundAnswer, number, object]>([
    [{ type: 'REFUNDED', refundId: 'r', evidence: {} }, 0, { type: 'refunded', refundId: 'r' }],
    [{ type: 'PENDING' }, 0, { type: 'retry', counted: false, afterMs: 5_000 }],
    [{ type: 'PENDING' }, 120_000, { type: 'retry', counted: false, afterMs: 60_000 }],
    [{ type: 'PENDING' }, 7_200_000, { type: 'retry', counted: false, afterMs: 600_000, answers: 'clear' }],
    [{ type: 'UNKNOWN', reason: 'down' }, 0, { type: 'retry', counted: false, afterMs: 5_000 }],
    [{ type: 'UNKNOWN', reason: 'down' }, 299_999, { type: 'retry', counted: false, afterMs: 5_000 }],
    [{ type: 'UNKNOWN', reason: 'down' }, 3_599_999, { type: 'retry', counted: false, afterMs: 15_000 }],
    [{ type: 'UNKNOWN', reason: 'down', retryAfterMs: 30_000 }, 0, { counted: false, afterMs: 30_000 }],
    [{ type: 'UNKNOWN', reason: 'down' }, 86_400_000, { type: 'retry', counted: false, afterMs: 60_000 }],
    [{ type: 'UNKNOWN', reason: 'down' }, 86_400_001, { type: 'retry', counted: true, reason: 'down' }],
    [{ type: 'UNKNOWN', reason: 'odd', needsPerson: true }, 0, { type: 'retry', counted: true, reason: 'odd' }],
    [
      { type: 'UNKNOWN', reason: 'p', retryAfterMs: 5_000, paused: true },
      86_400_001,
      { counted: false, answers: 'none' },
    ],
    [{ type: 'REJECTED', reason: 'poor' }, 0, { type: 'retry', counted: true }],
    [{ type: 'NO_PROVIDER', reason: 'add it' }, 0, { type: 'retry', counted: true, reason: 'add it' }],
  ])('answered %j after %i ms: %j', (answer, waitedMs, expected) => {
    expect(decideRefund(answer, waitedMs)).toMatchObject(expected);
  });
});

describe('a refund that was done, asked for again', () => {
  it.each<[RefundAnswer, number, object]>([
    [{ type: 'REFUNDED', refundId: 'r', evidence: {} }, 0, { type: 'retry', counted: false, afterMs: 60_000 }],
    [{ type: 'REFUNDED', refundId: 'r', evidence: {} }, 59_999, { type: 'retry', counted: false }],
    [{ type: 'REFUNDED', refundId: 'r', evidence: {} }, 60_000, { type: 'stands' }],
    [{ type: 'REJECTED', reason: 'no card' }, 0, { type: 'failed', reason: 'no card' }],
    [{ type: 'PENDING' }, 86_400_001, { type: 'retry', counted: false }],
    [{ type: 'UNKNOWN', reason: 'down' }, 86_400_000, { type: 'retry', counted: false }],
    [{ type: 'UNKNOWN', reason: 'down' }, 86_400_001, { type: 'retry', counted: true }],
    [{ type: 'NO_PROVIDER', reason: 'add it' }, 0, { type: 'retry', counted: true }],
  ])('answered %j %i ms after the notification: %j', (answer, waitedMs, expected) => {
    expect(decideCheck(answer, waitedMs)).toMatchObject(expected);
  });
});

describe('the payment watch', () => {
  const offsetsMs = [60_000, 600_000];
  const plan = (
    finding: Parameters<typeof planWatch>[0][number]['finding'],
    now = at(61_000),
    dueAt = now < at(600_000) ? at(60_000) : at(600_000),
  ) =>
    planWatch([{ provider: 'fake', reference: 'a-1', merchantAccount: null, finding }], {
      since: NOW,
      now,
      due: { dueAt },
      offsetsMs,
    });
  const CLOSED = { type: 'CLOSED', evidence: {} } as const;
  const UNKNOWN = { type: 'UNKNOWN', reason: 'down' } as const;

  it('looks up at each offset after the end, and then no more', () => {
    expect(nextWatchAt(NOW, offsetsMs, NOW)).toEqual(at(60_000));
    expect(nextWatchAt(NOW, offsetsMs, at(60_000))).toEqual(at(600_000));
    expect(nextWatchAt(NOW, offsetsMs, at(600_000))).toBeUndefined();
    expect(nextWatchAt(NOW, [], NOW)).toBeUndefined();
  });

  it('waits for the next round after an answer, and ends after the last', () => {
    expect(plan(CLOSED)).toEqual({ type: 'reschedule', dueAt: at(600_000) });
    expect(plan(CLOSED, at(601_000))).toEqual({ type: 'done' });
    expect(plan(PAID_OUTCOME)).toEqual({ type: 'reschedule', dueAt: at(600_000) });
  });

  it('keeps a round that became due while the answer of the one before was on its way, and skips older ones', () => {
    expect(plan(CLOSED, at(650_000), at(60_000))).toEqual({ type: 'reschedule', dueAt: at(600_000) });
    expect(plan(CLOSED, at(661_000), at(60_000))).toEqual({ type: 'done' });
  });

  it('distrusts for a minute that a provider no longer knows an attempt that it closed, then trusts it', () => {
    const lost = { type: 'NOT_FOUND_YET', finalAt: null } as const;
    expect(plan(lost)).toMatchObject({ type: 'retry', counted: false, afterMs: 15_000 });
    expect(plan(lost, at(120_000))).toEqual({ type: 'reschedule', dueAt: at(600_000) });
    expect(plan(lost, at(660_000))).toEqual({ type: 'done' });
  });

  it('looks up again soon without an answer, even in the last round', () => {
    expect(plan(UNKNOWN)).toMatchObject({ type: 'retry', counted: false, afterMs: 2_000 });
    expect(plan(UNKNOWN, at(601_000))).toMatchObject({ type: 'retry', counted: false });
    expect(plan({ type: 'IN_PROGRESS', reason: 'paying' })).toMatchObject({ type: 'retry', counted: false });
  });

  it('does not look up again shortly before the next round', () => {
    expect(plan(UNKNOWN, at(599_000))).toEqual({ type: 'reschedule', dueAt: at(600_000) });
  });

  it('counts if this process cannot look it up, so that a person is alerted, but not before the last round', () => {
    const alone = { type: 'NO_PROVIDER', reason: 'add it' } as const;
    expect(plan(alone)).toMatchObject({ type: 'reschedule' });
    expect(plan(alone, at(601_000))).toMatchObject({ type: 'retry', counted: true });
  });

  it('does not park the watch of one attempt because another cannot be looked up', () => {
    const findings = [
      { provider: 'gone', reference: 'a-1', merchantAccount: null, finding: { type: 'NO_PROVIDER', reason: 'add it' } },
      { provider: 'fake', reference: 'a-2', merchantAccount: null, finding: { type: 'IN_PROGRESS', reason: 'paying' } },
    ] as const;
    const outcome = planWatch(findings, { since: NOW, now: at(601_000), due: { dueAt: at(600_000) }, offsetsMs });
    expect(outcome).toMatchObject({ type: 'retry', counted: false, reason: 'fake a-2: paying' });
  });
});
