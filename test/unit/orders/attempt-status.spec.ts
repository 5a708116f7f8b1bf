import {
  ATTEMPT_STATUSES,
  ATTEMPT_TRANSITIONS,
  type AttemptStatus,
  canMoveAttempt,
  FIRST_ATTEMPT_STATUSES,
  OPEN_STATUSES,
  type LockedOrder,
  canTakeMoney,
  isBooked,
  isSameAttempt,
  type PaymentAttempt,
  withStatus,
} from '../../../src/orders/model/order';
import { applyFinding } from '../../../src/orders/model/findings';
import { declareClosed } from '../../../src/orders/close/end-order';
import { draftAttempt, bookMoney } from '../../../src/orders/model/money';
import { attempt, money, NOW, order, paid } from './orders';

const SOURCES = ['report', 'provider'] as const;
const FINDINGS: Parameters<typeof applyFinding>[1][] = [
  { type: 'CLOSED', evidence: {} },
  { type: 'IN_PROGRESS', reason: '' },
  { type: 'NOT_FOUND_YET', finalAt: null },
  { type: 'UNKNOWN', reason: '' },
  { type: 'UNKNOWN', reason: '', isKnownThere: true },
  { type: 'UNCONFIRMED', reason: '' },
  { type: 'NO_PROVIDER', reason: '' },
];

/** Attempts in every status, in everything that matters to a booking. */
function everyAttempt(reference: string, transactionId: string | null): PaymentAttempt[] {
  return ATTEMPT_STATUSES.flatMap((status) =>
    [true, false].flatMap((registered) => {
      const known = { status, reference, transactionId, registered };
      if (!isBooked({ status })) return [attempt(known)];
      return SOURCES.map((paidSource) => paid({ ...known, paidSource }));
    }),
  );
}

/** Orders with attempts a-1 and another, which may be another name of the same payment, or with the other alone. */
function* everyOrder(): Generator<LockedOrder> {
  const others = ['t-1', 'a-2'].flatMap((reference) => everyAttempt(reference, 't-1'));
  for (const status of ['PENDING', 'CLOSED'] as const) {
    for (const other of others) {
      yield order({ status, attempts: [other] });
      for (const first of everyAttempt('a-1', null)) yield order({ status, attempts: [first, other] });
    }
  }
}

type Attempts = readonly PaymentAttempt[];

/** The attempts before and after each decision that can change a status. */
function* everyDecision(): Generator<{ readonly before: Attempts; readonly after: Attempts }> {
  for (const one of everyAttempt('a-1', null)) {
    for (const finding of FINDINGS) yield { before: [one], after: [applyFinding(one, finding)] };
    if (canTakeMoney(one)) yield { before: [one], after: declareClosed(order({ attempts: [one] }), [one]).attempts };
  }
  for (const before of everyOrder()) {
    for (const source of SOURCES) {
      const { after } = bookMoney(before, money({ source, transactionId: 't-1' }));
      yield { before: before.attempts, after: after.attempts };
    }
    // What a person settled before belongs to an attempt that the order has registered.
    if (!before.attempts.some(({ reference }) => reference === 'a-1')) continue;
    const { after } = bookMoney(before, money({ source: 'provider', transactionId: 't-1', isSettled: true }));
    yield { before: before.attempts, after: after.attempts };
  }
}

type Step = `${AttemptStatus} -> ${AttemptStatus}`;

/** The steps of known attempts, and the statuses of attempts that are new. */
function everyChange(): { readonly steps: ReadonlySet<Step>; readonly starts: ReadonlySet<AttemptStatus> } {
  const steps = new Set<Step>();
  const starts = new Set<AttemptStatus>();
  for (const { before, after } of everyDecision()) {
    for (const now of after) {
      const then = before.find((one) => isSameAttempt(one, now));
      if (!then) starts.add(now.status);
      else if (then.status !== now.status) steps.add(`${then.status} -> ${now.status}`);
    }
  }
  return { steps, starts };
}

/** Written on their own: registering again, the steps of a refund, and what a person decides. */
const BY_STATEMENT: readonly Step[] = [
  'CREATED -> OPEN',
  ...(['PAID -> REFUNDING', 'REFUNDING -> REFUNDED', 'REFUNDED -> REFUNDING'] as const),
  ...(['PAID -> SETTLED', 'SETTLED -> PAID'] as const),
];

const inTable: readonly Step[] = ATTEMPT_STATUSES.flatMap((from) =>
  ATTEMPT_TRANSITIONS[from].map((to): Step => `${from} -> ${to}`),
);

describe('the table of transitions of a payment attempt', () => {
  it('has exactly the steps that the decisions and the statements take', () => {
    const taken = new Set([...everyChange().steps, ...BY_STATEMENT]);
    expect([...taken].sort()).toEqual([...inTable].sort());
  });

  it('begins where new attempts do', () => {
    const drafts = [true, false].map((handedOver) =>
      draftAttempt(order(), { provider: 'p', reference: 'r', handedOver }, NOW),
    );
    const starts = new Set([...drafts.map(({ status }) => status), ...everyChange().starts]);
    expect([...starts].sort()).toEqual([...FIRST_ATTEMPT_STATUSES].sort());
  });

  it('lets every attempt that may take money be closed and paid', () => {
    for (const status of OPEN_STATUSES)
      expect(ATTEMPT_TRANSITIONS[status]).toEqual(expect.arrayContaining(['CLOSED', 'PAID']));
  });

  it('never takes money out of a refund: one that fails is pending again', () => {
    expect([ATTEMPT_TRANSITIONS.REFUNDING, ATTEMPT_TRANSITIONS.REFUNDED]).toEqual([['REFUNDED'], ['REFUNDING']]);
  });

  const refused = ATTEMPT_STATUSES.flatMap((from) =>
    ATTEMPT_STATUSES.filter((to) => to !== from && !canMoveAttempt(from, to)).map((to) => [from, to] as const),
  );

  it.each(refused)('throws for the step from %s to %s', (from, to) => {
    expect(() => withStatus(attempt({ status: from }), to)).toThrow(`no transition from ${from} to ${to}`);
  });
});

describe('a new attempt', () => {
  it('takes from its order what it does not say', () => {
    const draft = draftAttempt(order(), { provider: 'fake', reference: 'a-1' }, NOW);
    expect(draft).toMatchObject({ status: 'OPEN', amount: 100n, currency: 'EUR', timeExpire: null, registered: true });
  });

  it('keeps what it says, and may be one that the buyer does not have yet', () => {
    const said = { amount: 60, currency: 'USD', timeExpire: NOW };
    const draft = draftAttempt(order(), { provider: 'fake', reference: 'a-1', handedOver: false, ...said }, NOW);
    expect(draft).toMatchObject({ ...said, amount: 60n, status: 'CREATED' });
  });
});
