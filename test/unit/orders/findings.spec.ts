import {
  applyFinding,
  type AttemptFinding,
  type Finding,
  shortestOf,
  waitForFinding,
  waitForProviders,
  attemptWrites,
  paymentsFound,
  type Wait,
  withFindings,
} from '../../../src/orders/model/findings';
import { nextStep } from '../../../src/orders/lookup/payment-lookups';
import { type LockedOrder } from '../../../src/orders/model/order';
import { at, attempt, CLOSED, IN_PROGRESS, NOW, on, order, paid, PAID_OUTCOME, UNKNOWN } from './orders';

describe('an attempt that was never handed over', () => {
  const created = attempt({ status: 'CREATED' });
  const notFound = (status: 'CREATED' | 'OPEN' | 'UNKNOWN') =>
    nextStep({ ...created, status }, { query: { type: 'NOT_FOUND' } }, NOW);

  it('stays recognizable after a look-up without an answer, because that it is unknown then closes it', () => {
    expect(applyFinding(created, UNKNOWN)).toBe(created);
    expect(notFound('CREATED')).toMatchObject({ finding: { type: 'CLOSED' } });
  });

  it('counts as handed over once the provider has known it, because then nothing proves it closed', () => {
    expect(applyFinding(created, { ...UNKNOWN, isKnownThere: true })).toMatchObject({ status: 'UNKNOWN' });
    expect(notFound('UNKNOWN')).toMatchObject({ finding: { type: 'NOT_FOUND_YET' } });
    expect(applyFinding(attempt({ status: 'OPEN' }), UNKNOWN)).toMatchObject({ status: 'UNKNOWN' });
  });

  it('is not found for good after a close only when its time limit has passed', () => {
    const facts = { query: { type: 'OPEN' }, close: { type: 'CLOSED' }, confirmation: { type: 'NOT_FOUND' } } as const;
    const limited = { ...created, timeExpire: at(0) };
    expect(nextStep(limited, facts, NOW)).toEqual({
      type: 'conclude',
      finding: { type: 'NOT_FOUND_YET', finalAt: at(60_000) },
    });
  });
});

describe('an answer that says when to ask again', () => {
  const ask = (answer: object) => nextStep(attempt(), { query: { ...UNKNOWN, ...answer } }, NOW);

  it('keeps that time, and that the provider is paused', () => {
    expect(ask({})).toStrictEqual({ type: 'conclude', finding: UNKNOWN });
    expect(ask({ retryAfterMs: 7_000 })).toStrictEqual({
      type: 'conclude',
      finding: { ...UNKNOWN, retryAfterMs: 7_000 },
    });
    expect(ask({ paused: true })).toStrictEqual({ type: 'conclude', finding: { ...UNKNOWN, paused: true } });
  });
});

describe('the attempts after findings', () => {
  const two = order({ attempts: [attempt(), attempt({ reference: 'a-2', status: 'CLOSED' })] });

  it('are written if they have changed, with what shows it', () => {
    const findings = [on(CLOSED), on(CLOSED, 'a-2')];
    const writes = attemptWrites(two, withFindings(two, findings), findings);
    expect(writes).toMatchObject([{ attempt: { reference: 'a-1', status: 'CLOSED' }, evidence: { proof: 'closed' } }]);
    expect(attemptWrites(two, withFindings(two, [on(IN_PROGRESS)]), [on(IN_PROGRESS)])).toEqual([]);
  });

  it.each<[Finding, object]>([
    [{ ...PAID_OUTCOME, evidence: { proof: 'paid' } }, { proof: 'paid' }],
    [UNKNOWN, { reason: 'down' }],
    [IN_PROGRESS, { reason: 'paying' }],
  ])('show %j as %j', (finding, evidence) => {
    const before = order({ attempts: [attempt({ status: finding.type === 'IN_PROGRESS' ? 'UNKNOWN' : 'OPEN' })] });
    expect(attemptWrites(before, withFindings(before, [on(finding)]), [on(finding)])).toMatchObject([{ evidence }]);
  });

  it('do not include one that is no longer of this order, although its payment was found', () => {
    const stranger = on(PAID_OUTCOME, 'elsewhere');
    expect(withFindings(two, [stranger])).toBe(two);
    expect(withFindings(two, [on(CLOSED, 'elsewhere')])).toBe(two);
    expect(paymentsFound([on(CLOSED), stranger])).toMatchObject([
      { reference: 'elsewhere', amount: 100n, source: 'provider', resolvedAccount: null },
    ]);
  });

  it('belong to the account that their attempt turned out to have', () => {
    expect(paymentsFound([{ ...on(PAID_OUTCOME), resolvedAccount: 'm-1' }])).toMatchObject([
      { resolvedAccount: 'm-1' },
    ]);
  });
});

describe('several waits', () => {
  it('end with the first that does not count, because a wait that counts may park the order', () => {
    const counted = { reason: 'counted', counted: true, afterMs: 1 };
    const [long, short] = [9, 5].map((afterMs) => ({ reason: `${afterMs}`, counted: false, afterMs }));
    const all = [counted, long, short].flatMap((wait) => wait ?? []);
    expect(shortestOf(all)).toBe(short);
    expect(shortestOf(all.toReversed())).toBe(short);
    expect(shortestOf([{ ...counted, afterMs: 2 }, counted])).toBe(counted);
    // Without a time, the engine's back-off applies.
    const backOff = { reason: 'back-off', counted: true };
    expect(shortestOf([backOff, counted])).toBe(counted);
    expect(shortestOf([])).toBeUndefined();
  });
});

describe('the wait for a finding', () => {
  it('counts at once if only a person can help', () => {
    expect(waitForFinding({ ...UNKNOWN, needsPerson: true }, 0, NOW)).toStrictEqual({ reason: 'down', counted: true });
  });

  it.each([
    [0, 4_000],
    [9 * 60_000, 4_000],
    [11 * 60_000, 15_000],
    [59 * 60_000, 15_000],
    [61 * 60_000, 60_000],
  ])('for a buyer who is paying, after %i ms: %i ms', (waitedMs, afterMs) => {
    expect(waitForFinding(IN_PROGRESS, waitedMs, NOW)).toMatchObject({ counted: false, afterMs });
  });

  it('begins anew after clear answers of all, and after none', () => {
    const [clear, none] = [IN_PROGRESS, { ...UNKNOWN, paused: true } as const].map((found) =>
      waitForFinding(found, 0, NOW),
    );
    const unclear = waitForFinding(UNKNOWN, 0, NOW);
    const answers = (...waits: (Wait | undefined)[]) => shortestOf(waits.filter((wait) => wait !== undefined))?.answers;
    expect([answers(clear, clear), answers(clear, unclear), answers(clear, none)]).toEqual([
      'clear',
      undefined,
      'none',
    ]);
  });

  it('for an attempt that is unknown without a time limit, grows, and counts after a day', () => {
    const wait = (hours: number) => waitForFinding({ type: 'NOT_FOUND_YET', finalAt: null }, hours * 3_600_000, NOW);
    expect([wait(0), wait(2)]).toMatchObject([{ afterMs: 15_000 }, { counted: false, afterMs: 60_000 }]);
    expect(wait(24)).toMatchObject({ counted: false });
    expect(wait(24 + 1 / 3_600_000)).toMatchObject({ counted: true });
    expect(wait(25)).not.toHaveProperty('afterMs');
  });
});

describe('after a notification of a change', () => {
  const open = order({ attempts: [attempt()], expiresAt: at(3_600_000) });
  const wait = (subject: LockedOrder, findings: AttemptFinding[], sinceMs: number) =>
    waitForProviders(subject, findings, NOW, { dueAt: at(-sinceMs) });

  it.each([
    [0, 5_000],
    [9_999, 5_000],
    [10_000, 30_000],
    [59_999, 30_000],
    [60_000, 120_000],
    [599_999, 120_000],
  ])('%i ms later a provider that shows no payment yet is asked again in %i ms', (sinceMs, afterMs) => {
    expect(wait(open, [], sinceMs)).toMatchObject({ counted: false, afterMs });
  });

  it('the providers are believed after ten minutes, and for an order that has ended or can take no money', () => {
    expect(wait(open, [], 600_000)).toBeUndefined();
    expect(wait({ ...open, status: 'PAID' }, [], 0)).toBeUndefined();
    expect(wait({ ...open, attempts: [paid()] }, [], 0)).toBeUndefined();
  });

  it('one attempt that may take money is enough to ask again', () => {
    const attempts = [attempt({ status: 'CLOSED' }), attempt({ reference: 'a-2' })];
    expect(wait({ ...open, attempts }, [], 0)).toMatchObject({ afterMs: 5_000 });
    const reported = [attempt({ reference: 'a-2', status: 'CLOSED' }), paid({ paidSource: 'report' })];
    expect(wait({ ...open, attempts: reported }, [on(IN_PROGRESS)], 0)).toMatchObject({ afterMs: 4_000 });
  });

  it('a provider without an answer is asked again, whatever the order has become', () => {
    const ended = { ...open, status: 'CLOSED' as const };
    const down = { counted: false, afterMs: 2_000, reason: 'fake a-1: down' };
    expect(wait(ended, [on(UNKNOWN)], 0)).toMatchObject(down);
    expect(wait(open, [on(UNKNOWN)], 0)).toMatchObject(down);
    expect(wait(ended, [on(CLOSED)], 0)).toBeUndefined();
  });

  it('a buyer who is paying is waited for only if the payment was reported already', () => {
    const reported = { ...open, status: 'PAID' as const, attempts: [paid({ paidSource: 'report' })] };
    expect(wait(reported, [on(IN_PROGRESS)], 0)).toMatchObject({ reason: 'fake a-1: paying', afterMs: 4_000 });
    expect(wait(reported, [on(IN_PROGRESS, 'a-2')], 0)).toBeUndefined();
    expect(wait({ ...reported, attempts: [paid()] }, [on(IN_PROGRESS)], 0)).toBeUndefined();
    expect(wait(reported, [on(CLOSED)], 0)).toBeUndefined();
  });

  it('an order paid only by a report asks for ten minutes before a provider that contradicts it is believed', () => {
    const doubted: AttemptFinding[] = [on({ type: 'UNCONFIRMED', reason: 'it says NOT_FOUND' })];
    const reported = { ...open, status: 'PAID' as const, attempts: [paid({ paidSource: 'report' })] };
    expect(wait(reported, doubted, 0)).toMatchObject({ counted: false, afterMs: 5_000 });
    expect(wait(reported, doubted, 599_999)).toMatchObject({ afterMs: 120_000 });
    expect(wait(reported, doubted, 600_000)).toBeUndefined();
    expect(wait({ ...reported, status: 'CLOSED' }, doubted, 0)).toBeUndefined();
  });
});
