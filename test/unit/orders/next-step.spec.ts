import fc from 'fast-check';
import { type Facts, nextStep, type Step } from '../../../src/orders/lookup/payment-lookups';
import { type CloseOutcome, type QueryOutcome } from '../../../src/payments';
import { at, attempt, attempts, closeOutcomes, NOW, paid, PAID_OUTCOME, queryOutcomes } from './orders';

const MINUTE = 60_000;
const old = attempt({ createdAt: at(-10 * MINUTE) });
const young = attempt({ createdAt: at(-MINUTE) });
const query = (type: string): QueryOutcome =>
  (type === 'UNKNOWN' ? { type, reason: 'down' } : type === 'PAID' ? PAID_OUTCOME : { type }) as QueryOutcome;
const close = (type: string): CloseOutcome =>
  (type === 'UNKNOWN' ? { type, reason: 'down' } : { type }) as CloseOutcome;
const name = (step: Step): string => (step.type === 'conclude' ? step.finding.type : step.type);

describe('the look-up of one attempt', () => {
  it.each([
    ['PAID', 'PAID'],
    ['CLOSED', 'CLOSED'],
    ['REFUNDED', 'CLOSED'],
    ['PROCESSING', 'IN_PROGRESS'],
    ['AUTHORIZED', 'IN_PROGRESS'],
    ['NOT_FOUND', 'NOT_FOUND_YET'],
    ['UNKNOWN', 'UNKNOWN'],
    ['OPEN', 'close'],
  ])('after the query says %s: %s', (answer, expected) => {
    expect(name(nextStep(old, {}, NOW))).toBe('query');
    expect(name(nextStep(old, { query: query(answer) }, NOW))).toBe(expected);
  });

  it.each([
    ['CLOSED', 'CLOSED', 'confirm'],
    ['ALREADY_CLOSED', 'CLOSED', 'confirm'],
    ['PAID', 'confirm', 'confirm'],
    ['NOT_FOUND', 'confirm', 'confirm'],
    ['UNKNOWN', 'confirm', 'confirm'],
    ['IN_PROGRESS', 'IN_PROGRESS', 'IN_PROGRESS'],
  ])('after closing says %s: %s for an old attempt, %s for a young one', (answer, ofOld, ofYoung) => {
    const facts = { query: query('OPEN'), close: close(answer) };
    expect(name(nextStep(old, facts, NOW))).toBe(ofOld);
    expect(name(nextStep(young, facts, NOW))).toBe(ofYoung);
  });

  it.each([
    ['CLOSED', 'CLOSED', 'CLOSED'],
    ['CLOSED', 'OPEN', 'IN_PROGRESS'],
    ['CLOSED', 'PAID', 'PAID'],
    ['CLOSED', 'UNKNOWN', 'UNKNOWN'],
    ['CLOSED', 'NOT_FOUND', 'NOT_FOUND_YET'],
    ['PAID', 'PAID', 'PAID'],
    ['PAID', 'OPEN', 'IN_PROGRESS'],
    ['UNKNOWN', 'OPEN', 'UNKNOWN'],
    ['UNKNOWN', 'CLOSED', 'CLOSED'],
    ['NOT_FOUND', 'OPEN', 'IN_PROGRESS'],
  ])('after closing says %s and the query %s: %s', (closed, confirmed, expected) => {
    const facts = { query: query('OPEN'), close: close(closed), confirmation: query(confirmed) };
    expect(name(nextStep(young, facts, NOW))).toBe(expected);
  });

  it('trusts a close without another query once the time limit and the margin have passed', () => {
    const facts = { query: query('OPEN'), close: close('CLOSED') };
    expect(name(nextStep({ ...young, timeExpire: at(-MINUTE) }, facts, NOW))).toBe('CLOSED');
    expect(name(nextStep({ ...young, timeExpire: at(-MINUTE + 1) }, facts, NOW))).toBe('confirm');
  });

  it.each([
    ['before time limit and margin', { timeExpire: at(-MINUTE + 1) }, { type: 'NOT_FOUND_YET', finalAt: at(1) }],
    ['without a time limit', { timeExpire: null }, { type: 'NOT_FOUND_YET', finalAt: null }],
    ['after time limit and margin', { timeExpire: at(-MINUTE) }, { type: 'CLOSED' }],
    ['for an attempt that was never handed over', { status: 'CREATED' as const }, { type: 'CLOSED' }],
  ])('NOT_FOUND %s', (_, overrides, finding) => {
    const step = nextStep({ ...old, ...overrides }, { query: query('NOT_FOUND') }, NOW);
    expect(step).toMatchObject({ type: 'conclude', finding });
  });

  it('never closes an attempt whose payment was reported: the provider confirms it, or contradicts it', () => {
    const reported = paid({ paidSource: 'report' });
    for (const answer of ['OPEN', 'CLOSED', 'REFUNDED', 'NOT_FOUND']) {
      expect(name(nextStep(reported, { query: query(answer) }, NOW))).toBe('UNCONFIRMED');
    }
    expect(name(nextStep(reported, { query: query('PAID') }, NOW))).toBe('PAID');
    expect(name(nextStep(reported, { query: query('PROCESSING') }, NOW))).toBe('IN_PROGRESS');
    // The order no longer counts on a payment that a person has settled.
    const settled = paid({ status: 'SETTLED', paidSource: 'report' });
    expect(name(nextStep(settled, { query: query('OPEN') }, NOW))).toBe('close');
    expect(name(nextStep({ ...settled, paidSource: 'provider' }, { query: query('OPEN') }, NOW))).toBe('UNCONFIRMED');
  });

  it('does not treat an attempt as never handed over once the provider has known it', () => {
    const created = { ...young, status: 'CREATED' as const };
    const facts = { query: query('OPEN'), close: close('UNKNOWN') };
    expect(name(nextStep(created, { ...facts, confirmation: query('NOT_FOUND') }, NOW))).toBe('NOT_FOUND_YET');
    const silent = nextStep(created, { ...facts, confirmation: query('UNKNOWN') }, NOW);
    expect(silent).toMatchObject({ finding: { type: 'UNKNOWN', isKnownThere: true } });
  });

  it("uses the provider's clock if the provider returns its time", () => {
    const limited = { ...old, timeExpire: at(-2 * MINUTE) };
    const facts: Facts = { query: { type: 'NOT_FOUND', providerNow: at(-90_000) } };
    expect(name(nextStep(limited, facts, NOW))).toBe('NOT_FOUND_YET');
  });

  it('ends after at most three calls, and treats an attempt as closed only after a positive answer', () => {
    fc.assert(
      fc.property(attempts, queryOutcomes, closeOutcomes, queryOutcomes, (subject, first, closing, second) => {
        const facts: { -readonly [K in keyof Facts]: Facts[K] } = {};
        let step = nextStep(subject, facts, NOW);
        for (let asked = 0; step.type !== 'conclude'; asked++) {
          expect(asked).toBeLessThan(3);
          if (step.type === 'query') facts.query = first;
          if (step.type === 'close') facts.close = closing;
          if (step.type === 'confirm') facts.confirmation = second;
          step = nextStep(subject, facts, NOW);
        }
        const last = facts.confirmation ?? facts.close ?? facts.query;
        if (step.finding.type === 'CLOSED') {
          expect(['CLOSED', 'ALREADY_CLOSED', 'REFUNDED', 'NOT_FOUND']).toContain(last?.type);
          if (last?.type === 'NOT_FOUND') {
            const isOver = subject.timeExpire !== null && subject.timeExpire.getTime() + MINUTE <= NOW.getTime();
            const neverLeft = subject.status === 'CREATED' && first.type === 'NOT_FOUND';
            expect(neverLeft || isOver).toBe(true);
          }
        }
        if (last?.type === 'PAID') expect(step.finding.type).toBe('PAID');
        if (last?.type === 'UNKNOWN') expect(step.finding.type).toBe('UNKNOWN');
      }),
      { numRuns: 2_000 },
    );
  });
});
