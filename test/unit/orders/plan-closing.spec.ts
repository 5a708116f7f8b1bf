import { type AttemptFinding, type Finding } from '../../../src/orders/model/findings';
import { type PartialPolicy, planClosing } from '../../../src/orders/model/plan-closing';
import { type LockedOrder } from '../../../src/orders/model/order';
import { at, attempt, CLOSED, IN_PROGRESS, NOW, on, order, paid, PAID_OUTCOME, UNKNOWN } from './orders';

const PART: Finding = { ...PAID_OUTCOME, amount: 99n };

const due = { key: 'o-1', generation: '1', dueAt: at(-1_000), attempts: 0, payload: {}, cause: 'passive' } as const;

/** Without findings: the first run, before any look-up. */
const plan = (subject: LockedOrder, findings?: AttemptFinding[], partial: PartialPolicy = 'park') =>
  planClosing(subject, { ...due, kind: 'order.payment', ...(findings && { answer: findings }) }, NOW, partial);

const pending = order({ attempts: [attempt()], version: 7 });
const closing = order({ status: 'CLOSING', closingReason: 'expired', attempts: [attempt()], version: 7 });
const canceled = { ...closing, closingReason: 'cancelled' as const };
const two = { ...closing, attempts: [attempt(), attempt({ reference: 'a-2' })] };
const part = paid({ paidAmount: 99n });
/** Its attempt asks for no more, while the order does. */
const whole = paid({ amount: 99n, paidAmount: 99n });

describe('the plan of the first run', () => {
  it('closes an order without attempts, and says why', () => {
    const plan1 = plan(order({ version: 7 }));
    expect(plan1).toMatchObject({
      outcome: { type: 'done' },
      transition: {
        to: 'CLOSED',
        reason: 'expired',
        closingReason: 'expired',
        evidence: null,
        by: { cause: 'passive' },
      },
      after: { status: 'CLOSED', version: 8 },
    });
    expect([plan1.findings, plan1.writes, plan1.returns, plan1.unmatched]).toEqual([[], [], [], []]);
  });

  it('stops new attempts before it looks up the open ones, once', () => {
    const entering = plan(pending);
    expect(entering).toMatchObject({
      outcome: { type: 'look-up' },
      transition: { to: 'CLOSING', reason: 'expired', closingReason: 'expired' },
      after: { status: 'CLOSING', version: 8 },
    });
    const again = plan(closing);
    expect(again).toMatchObject({ outcome: { type: 'look-up' }, after: { status: 'CLOSING', version: 7 } });
    expect(again.transition).toBeUndefined();
  });

  it('waits for a deadline that was moved, and changes nothing', () => {
    const moved = plan({ ...pending, expiresAt: at(60_000) });
    expect(moved).toMatchObject({ outcome: { type: 'reschedule', dueAt: at(60_000) }, after: { status: 'PENDING' } });
    expect([moved.transition, moved.unmatched]).toEqual([undefined, []]);
  });

  it.each<[PartialPolicy, string]>([
    ['refund-and-close', 'waiting'],
    ['park', 'kept'],
    ['keep', 'kept'],
  ])('tells of a part whose order has time left; policy %s: it is %s', (partial, handling) => {
    const { unmatched } = plan(order({ expiresAt: at(60_000), attempts: [part] }), undefined, partial);
    expect(unmatched).toMatchObject([{ reference: 'a-1', amount: 99n, reason: 'amount-mismatch', handling }]);
    expect(unmatched).toMatchObject([{ evidence: { cause: 'passive' }, now: NOW, source: 'provider' }]);
  });

  it('tells of a part whose order has no deadline', () => {
    const { outcome, unmatched } = plan(order({ autoClose: false, attempts: [part, attempt({ reference: 'a-2' })] }));
    expect(outcome).toEqual({ type: 'done' });
    expect(unmatched).toMatchObject([{ reference: 'a-1', handling: 'kept' }]);
    expect(plan(order({ autoClose: false, attempts: [paid({ status: 'SETTLED' })] })).unmatched).toEqual([]);
  });

  it('refunds the part of an order that it closes, if the policy says so', () => {
    const asks = plan(order({ attempts: [part] }), undefined, 'refund-and-close');
    expect(asks).toMatchObject({ outcome: { type: 'look-up' }, transition: { to: 'CLOSING' }, returns: [] });
    const { transition, returns, unmatched } = plan(order({ attempts: [whole] }), undefined, 'refund-and-close');
    expect(transition).toMatchObject({ to: 'CLOSED' });
    expect([returns, unmatched]).toEqual([[whole], []]);
  });

  it('pays an order that has enough, and comes back at once for its open attempts', () => {
    const compensated = { to: 'PAID', reason: 'compensated', closingReason: null };
    expect(plan(order({ attempts: [paid()] }))).toMatchObject({ outcome: { type: 'done' }, transition: compensated });
    const open = [paid(), attempt({ reference: 'a-2' })];
    expect(plan(order({ attempts: open }))).toMatchObject({
      outcome: { type: 'retry', counted: false, afterMs: 0 },
      transition: compensated,
    });
  });

  it('parks a part for a person, but asks first whether the rest came under its reference, or another attempt', () => {
    const parked = plan(order({ attempts: [whole] }));
    expect(parked).toMatchObject({ outcome: { type: 'park' }, unmatched: [{ reference: 'a-1', handling: 'kept' }] });
    expect(parked.transition).toBeUndefined();
    for (const attempts of [[part], [whole, attempt({ reference: 'a-2', status: 'CLOSED' })]]) {
      const asked = plan(order({ attempts }));
      expect([asked.outcome, asked.unmatched]).toEqual([{ type: 'look-up' }, []]);
    }
  });

  it('does nothing for an order that has ended', () => {
    const ended = plan(order({ status: 'CLOSED', attempts: [part], version: 7 }));
    expect(ended).toMatchObject({ outcome: { type: 'done' }, after: { status: 'CLOSED', version: 7 } });
    expect([ended.transition, ended.unmatched, ended.returns]).toEqual([undefined, [], []]);
  });
});

describe('the plan after a look-up', () => {
  it.each<[string, Finding, object]>([
    ['tells of the same payment', PART, { outcome: { type: 'done' }, transition: { to: 'CLOSED' }, returns: [{}] }],
    ['tells of one that a person has settled', CLOSED, { outcome: { type: 'done' }, transition: { to: 'CLOSED' } }],
    ['is silent', UNKNOWN, { outcome: { type: 'retry', counted: false }, returns: [] }],
    ['must be looked at', { ...UNKNOWN, needsPerson: true }, { outcome: { type: 'retry', counted: true } }],
    ['says that the buyer pays', IN_PROGRESS, { outcome: { type: 'retry', counted: false }, returns: [] }],
  ])('refunds a part whose rest may come, unless the provider says more: it %s', (_, finding, expected) => {
    const partly = { ...closing, attempts: [part] };
    expect(plan(partly, [on(finding)], 'refund-and-close')).toMatchObject(expected);
  });

  it('closes the order, and writes its attempts and what the providers said', () => {
    const { outcome, transition, after, writes } = plan(closing, [on(CLOSED)]);
    const said = { attempts: [{ provider: 'fake', reference: 'a-1', type: 'CLOSED', evidence: { proof: 'closed' } }] };
    expect(outcome).toEqual({ type: 'done' });
    expect(transition).toMatchObject({ to: 'CLOSED', reason: 'expired', closingReason: 'expired', evidence: said });
    expect(after).toMatchObject({ status: 'CLOSED', version: 8, attempts: [{ status: 'CLOSED' }] });
    expect(writes).toMatchObject([{ attempt: { status: 'CLOSED' }, evidence: { proof: 'closed' } }]);
  });

  it('ends a canceled order as CANCELLED, and refunds its part', () => {
    const { transition, returns } = plan(canceled, [on(PART)]);
    expect(transition).toMatchObject({ to: 'CANCELLED', reason: 'cancelled', closingReason: 'cancelled' });
    expect(returns).toMatchObject([{ reference: 'a-1', status: 'PAID', paidAmount: 99n }]);
  });

  it('pays an order whose provider has its money, and keeps closing the other attempt', () => {
    const found = plan(closing, [on(PAID_OUTCOME)]);
    expect(found).toMatchObject({
      outcome: { type: 'done' },
      transition: { to: 'PAID', reason: 'compensated', closingReason: 'expired' },
      after: { status: 'PAID', attempts: [{ status: 'PAID' }] },
    });
    // As JSON has no bigint.
    expect(found.transition?.evidence).toMatchObject({ attempts: [{ type: 'PAID', amount: '100' }] });
    expect(plan(two, [on(PAID_OUTCOME), on(UNKNOWN, 'a-2')])).toMatchObject({
      outcome: { type: 'retry', counted: false, afterMs: 2_000, reason: 'fake a-2: down' },
      transition: { to: 'PAID' },
    });
  });

  it('waits as long as an attempt may take money', () => {
    const { outcome, transition, unmatched } = plan(closing, [on(IN_PROGRESS)]);
    expect(outcome).toStrictEqual({
      ...{ type: 'retry', counted: false, answers: 'clear' },
      ...{ afterMs: 4_000, reason: 'fake a-1: paying' },
    });
    expect([transition, unmatched]).toEqual([undefined, []]);
  });

  it('says that nobody was asked while the provider is paused', () => {
    const paused = { ...UNKNOWN, paused: true };
    expect(plan(closing, [on(paused)]).outcome).toMatchObject({ type: 'retry', counted: false, answers: 'none' });
  });

  it('leaves the back-off to the engine for a wait that counts', () => {
    const { outcome } = plan(closing, [on({ type: 'NO_PROVIDER', reason: 'add it' })]);
    expect(outcome).toStrictEqual({ type: 'retry', counted: true, reason: 'fake a-1: add it' });
  });

  it.each<[PartialPolicy, string]>([
    ['refund-and-close', 'waiting'],
    ['park', 'kept'],
  ])('tells of a part before it waits for another attempt; policy %s: it is %s', (partial, handling) => {
    const { unmatched } = plan(two, [on(PART), on(UNKNOWN, 'a-2')], partial);
    expect(unmatched).toMatchObject([{ reference: 'a-1', reason: 'amount-mismatch', handling }]);
  });

  it('parks a part for a person', () => {
    const { outcome, unmatched } = plan(closing, [on(PART)]);
    expect(outcome).toMatchObject({
      type: 'park',
      reason: expect.stringContaining('paid 99 EUR of 100 EUR') as string,
    });
    expect(unmatched).toMatchObject([{ reference: 'a-1', amount: 99n, handling: 'kept' }]);
  });

  it('keeps what was decided in the meantime, and writes the attempts only', () => {
    const decided = plan({ ...closing, status: 'CANCELLED' }, [on(CLOSED)]);
    expect(decided).toMatchObject({ outcome: { type: 'done' }, after: { status: 'CANCELLED', version: 7 } });
    expect(decided.transition).toBeUndefined();
    expect(decided.writes).toHaveLength(1);
  });
});
