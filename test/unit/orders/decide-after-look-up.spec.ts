import fc from 'fast-check';
import { type AttemptFinding, type Finding, waitedMs } from '../../../src/orders/model/findings';
import { type PartialPolicy, decideAfterLookUp as decide } from '../../../src/orders/model/plan-closing';
import { type LockedOrder } from '../../../src/orders/model/order';
import { at, attempt, NOW, order, PAID_OUTCOME, paid } from './orders';

const DUE = at(-1_000);
const decideAfterLookUp = (
  subject: LockedOrder,
  findings: readonly AttemptFinding[],
  now: Date,
  dueAt: Date,
  partial: PartialPolicy = 'park',
) => decide(subject, findings, now, waitedMs({ dueAt }, now), partial);
const on = (finding: Finding, reference = 'a-1'): AttemptFinding => ({
  provider: 'fake',
  reference,
  merchantAccount: null,
  finding,
});
/** A separate payment. */
const SECOND: Finding = { ...PAID_OUTCOME, transactionId: 't-2' };
const CLOSED: Finding = { type: 'CLOSED', evidence: {} };
const UNKNOWN: Finding = { type: 'UNKNOWN', reason: 'down' };
const IN_PROGRESS: Finding = { type: 'IN_PROGRESS', reason: 'paying' };
const NO_PROVIDER: Finding = { type: 'NO_PROVIDER', reason: 'add it' };
const closing = order({ status: 'CLOSING', closingReason: 'expired', attempts: [attempt()] });
const two = { ...closing, attempts: [attempt(), attempt({ reference: 'a-2' })] };

describe('the decision after a look-up', () => {
  it.each<[string, Finding, object]>([
    ['closed', CLOSED, { type: 'closed' }],
    ['paid', PAID_OUTCOME, { type: 'paid' }],
    ['paid too little', { ...PAID_OUTCOME, amount: 99n }, { type: 'park' }],
    ['paid more than enough', { ...PAID_OUTCOME, amount: 101n }, { type: 'paid' }],
    ['paid in another currency', { ...PAID_OUTCOME, currency: 'USD' }, { type: 'park' }],
    ['being paid', IN_PROGRESS, { type: 'wait', counted: false, afterMs: 4_000 }],
    ['unknown', UNKNOWN, { type: 'wait', counted: false, afterMs: 2_000 }],
    ['not found yet', { type: 'NOT_FOUND_YET', finalAt: at(3_000) }, { type: 'wait', counted: false, afterMs: 3_000 }],
    ['not found, without limit', { type: 'NOT_FOUND_YET', finalAt: null }, { type: 'wait', counted: false }],
    ['not configured', NO_PROVIDER, { type: 'wait', counted: true }],
  ])('one attempt, %s', (_, finding, expected) => {
    expect(decideAfterLookUp(closing, [on(finding)], NOW, DUE)).toMatchObject(expected);
  });

  it.each<[string, Finding, Finding, object]>([
    ['both closed', CLOSED, CLOSED, { type: 'closed' }],
    ['one paid, one closed', PAID_OUTCOME, CLOSED, { type: 'paid' }],
    ['one paid, one unknown', PAID_OUTCOME, UNKNOWN, { type: 'paid', wait: { counted: false } }],
    ['one closed, one unknown', CLOSED, UNKNOWN, { type: 'wait', counted: false }],
    ['one in part, one unknown', { ...PAID_OUTCOME, amount: 50n }, UNKNOWN, { type: 'wait', counted: false }],
    ['one unknown, one without provider', UNKNOWN, NO_PROVIDER, { type: 'wait', counted: false }],
    ['two halves', { ...PAID_OUTCOME, amount: 50n }, { ...SECOND, amount: 50n }, { type: 'paid' }],
    ['two names of one half', { ...PAID_OUTCOME, amount: 50n }, { ...PAID_OUTCOME, amount: 50n }, { type: 'park' }],
  ])('two attempts, %s', (_, first, second, expected) => {
    expect(decideAfterLookUp(two, [on(first), on(second, 'a-2')], NOW, DUE)).toMatchObject(expected);
  });

  it('waits if an attempt has no answer', () => {
    expect(decideAfterLookUp(two, [on(CLOSED)], NOW, DUE)).toMatchObject({ type: 'wait', counted: false });
  });

  it('closes an order that is paid in part, and refunds the part, if the policy says so', () => {
    const part = { ...PAID_OUTCOME, amount: 99n };
    expect(decideAfterLookUp(closing, [on(part)], NOW, DUE, 'refund-and-close')).toMatchObject({
      type: 'closed',
      returns: [{ reference: 'a-1', paidAmount: 99n }],
    });
  });

  it('ends a canceled order as CANCELLED', () => {
    const cancelled = { ...closing, closingReason: 'cancelled' as const };
    expect(decideAfterLookUp(cancelled, [on(CLOSED)], NOW, DUE)).toEqual({ type: 'cancelled', returns: [] });
  });

  it('does not change an order that was decided in the meantime, but continues closing the other attempts of a paid one', () => {
    expect(decideAfterLookUp({ ...closing, status: 'CLOSED' }, [on(PAID_OUTCOME)], NOW, DUE)).toEqual({
      type: 'decided',
    });
    const decision = decideAfterLookUp({ ...two, status: 'PAID' }, [on(CLOSED), on(UNKNOWN, 'a-2')], NOW, DUE);
    expect(decision).toMatchObject({ type: 'decided', wait: { counted: false } });
  });

  it('does not wait for the attempts of an order that was closed in the meantime', () => {
    const closed = { ...two, status: 'CLOSED' as const };
    expect(decideAfterLookUp(closed, [on(CLOSED), on(UNKNOWN, 'a-2')], NOW, DUE)).toEqual({ type: 'decided' });
  });

  const reported = (paidAmount: bigint) => ({ ...closing, attempts: [paid({ paidAmount, paidSource: 'report' })] });
  const UNCONFIRMED: Finding = { type: 'UNCONFIRMED', reason: 'not paid there' };
  const ofPart = { type: 'park', reason: expect.stringContaining('the provider does not confirm') as string };

  it.each<[string, Finding, object]>([
    ['cannot be asked', UNKNOWN, { type: 'wait', counted: false, afterMs: 2_000, reason: 'fake a-1: down' }],
    ['still sees it on its way', IN_PROGRESS, { type: 'wait', counted: false, afterMs: 4_000 }],
    ['confirms it', { ...PAID_OUTCOME, amount: 99n }, { type: 'closed', returns: [{ paidSource: 'provider' }] }],
    ['took more', PAID_OUTCOME, { type: 'paid' }],
    ['contradicts it', UNCONFIRMED, ofPart],
    ['is not configured here', NO_PROVIDER, ofPart],
  ])('a part that was only reported, and whose provider %s', (_, finding, expected) => {
    expect(decideAfterLookUp(reported(99n), [on(finding)], NOW, DUE, 'refund-and-close')).toMatchObject(expected);
  });

  it('waits for the provider of a part that was only reported, if it was not asked', () => {
    const decision = decideAfterLookUp(reported(99n), [], NOW, DUE, 'refund-and-close');
    expect(decision).toMatchObject({ type: 'wait', counted: false, reason: 'fake a-1: not looked up yet' });
  });

  it.each([
    [5, 2_000],
    [25, 2_000],
    [30, 5_000],
    [60, 5_000],
    [299, 5_000],
    [600, 15_000],
    [7_200, 60_000],
  ])('calls a silent provider again, %i s after the deadline, in %i ms', (waitedS, afterMs) => {
    expect(decideAfterLookUp(closing, [on(UNKNOWN)], NOW, at(-waitedS * 1_000))).toMatchObject({ afterMs });
  });

  it('does not flood a provider whose clock is behind', () => {
    const past: Finding = { type: 'NOT_FOUND_YET', finalAt: at(-1) };
    expect(decideAfterLookUp(closing, [on(past)], NOW, DUE)).toMatchObject({ type: 'wait', afterMs: 5_000 });
  });

  it('respects the retry delay of the provider, up to a minute', () => {
    const patient = (retryAfterMs: number) => decideAfterLookUp(closing, [on({ ...UNKNOWN, retryAfterMs })], NOW, DUE);
    expect(patient(20_000)).toMatchObject({ afterMs: 20_000 });
    expect(patient(3_600_000)).toMatchObject({ afterMs: 60_000 });
  });

  it('counts runs after a day without an answer, so that a person is alerted, but waits for a slow bank', () => {
    const days = at(-25 * 3_600_000);
    expect(decideAfterLookUp(closing, [on(UNKNOWN)], NOW, days)).toMatchObject({ type: 'wait', counted: true });
    expect(decideAfterLookUp(closing, [on(IN_PROGRESS)], NOW, days)).toMatchObject({ type: 'wait', counted: false });
  });

  it('counts the day from the first look-up, not from the deadline', () => {
    const [dueAt, askedSince] = [at(-25 * 3_600_000), at(-60_000)];
    expect(waitedMs({ dueAt }, NOW)).toBe(25 * 3_600_000);
    expect(waitedMs({ dueAt, askedSince }, NOW)).toBe(60_000);
  });

  it('never counts while an operator has paused a provider, and begins anew afterward', () => {
    const paused: Finding = { type: 'UNKNOWN', reason: 'paused', retryAfterMs: 15_000, paused: true };
    const days = at(-25 * 3_600_000);
    const wait = { type: 'wait', counted: false, answers: 'none' };
    expect(decideAfterLookUp(closing, [on(paused)], NOW, days)).toMatchObject({ ...wait, afterMs: 60_000 });
    expect(decideAfterLookUp(closing, [on(paused)], NOW, DUE)).toMatchObject({ ...wait, afterMs: 15_000 });
    const both = [on(paused), on(IN_PROGRESS, 'a-2')];
    expect(decideAfterLookUp(two, both, NOW, DUE)).toMatchObject({
      ...wait,
      afterMs: 4_000,
      reason: 'fake a-2: paying',
    });
  });

  const findings = fc.constantFrom<Finding>(
    CLOSED,
    UNKNOWN,
    IN_PROGRESS,
    NO_PROVIDER,
    PAID_OUTCOME,
    { ...PAID_OUTCOME, amount: 40n },
    { ...PAID_OUTCOME, currency: 'USD' },
    { type: 'NOT_FOUND_YET', finalAt: null },
  );

  it('closes only if every attempt is closed, and pays if and only if there is enough money', () => {
    fc.assert(
      fc.property(fc.array(findings, { maxLength: 4 }), fc.boolean(), (found, hasPart) => {
        const references = found.map((_, index) => `a-${index}`);
        const part = hasPart ? [paid({ reference: 'part', paidAmount: 60n })] : [];
        const subject = { ...closing, attempts: [...part, ...references.map((reference) => attempt({ reference }))] };
        const decision = decideAfterLookUp(
          subject,
          found.map((finding, index) => on({ ...finding, transactionId: `t-${index}` } as Finding, references[index])),
          NOW,
          DUE,
        );
        const inEuro = found.flatMap((one) => (one.type === 'PAID' && one.currency === 'EUR' ? [one.amount] : []));
        const sum = inEuro.reduce((total, amount) => total + amount, hasPart ? 60n : 0n);
        const isAllClosed = !hasPart && found.every((one) => one.type === 'CLOSED');
        expect(decision.type === 'paid').toBe(sum >= 100n);
        expect(decision.type === 'closed').toBe(isAllClosed);
      }),
      { numRuns: 2_000 },
    );
  });
});
