import { decideUnmatched } from '../../src/orders/unmatched/handle-unmatched';
import { type Facts, nextStep, type Step } from '../../src/orders/lookup/payment-lookups';
import { planClosing } from '../../src/orders/model/plan-closing';
import { type AttemptFinding, paymentsFound } from '../../src/orders/model/findings';
import { bookMoney, type Money } from '../../src/orders/model/money';
import { splitTaken } from '../../src/orders/unmatched/note-unmatched-money';
import { isBooked, isSameAttempt, isSamePayment } from '../../src/orders/model/order';
import { OURS, type Wiring } from './wiring';

const closed: Step = { type: 'conclude', finding: { type: 'CLOSED', evidence: {} } };

/** Nobody looks at closed orders again, as in all of these. */
const withoutLatePath: Wiring = {
  ...OURS,
  name: 'no-late-path',
  shows: 'charged',
  decideUnmatched: (order, policy, verification) =>
    order.status === 'PAID' ? decideUnmatched(order, policy, verification) : { type: 'nothing' },
  watches: false,
};

/** Whatever is not paid is unpaid, errors included. */
const errorsAreUnpaid: Wiring = {
  ...withoutLatePath,
  name: 'errors-are-unpaid',
  sendsTimeExpire: false,
  nextStep: (_attempt, { query }) => {
    if (!query) return { type: 'query' };
    return query.type === 'PAID' ? { type: 'conclude', finding: query } : closed;
  },
};

/** Errors wait, but what is open is closed here only. */
const closesHereOnly: Wiring = {
  ...withoutLatePath,
  name: 'closes-here-only',
  sendsTimeExpire: false,
  nextStep: (attempt, { query }, now) => {
    if (!query) return { type: 'query' };
    return query.type === 'UNKNOWN' || query.type === 'PAID' ? nextStep(attempt, { query }, now) : closed;
  },
};

/** The provider is told to close, and nobody listens to what it says. */
const ignoresClose: Wiring = {
  ...withoutLatePath,
  name: 'ignores-close',
  sendsTimeExpire: false,
  nextStep: (attempt, { query, close }, now) => {
    if (!query) return { type: 'query' };
    if (query.type === 'UNKNOWN' || query.type === 'PAID') return nextStep(attempt, { query }, now);
    return close ? closed : { type: 'close' };
  },
};

/** Strict, but an attempt that the provider does not know is taken for closed, and has no time limit there. */
const notFoundIsClosed: Wiring = {
  ...withoutLatePath,
  name: 'not-found-is-closed',
  sendsTimeExpire: false,
  nextStep: (attempt, facts, now) => (lastQuery(facts)?.type === 'NOT_FOUND' ? closed : nextStep(attempt, facts, now)),
};

function lastQuery({ query, confirmation }: Facts): Facts['query'] {
  return confirmation ?? query;
}

/** Whatever another order has claimed is its own, unless nothing of it was registered there. */
const heedsClaims: Wiring['decideClaim'] = (order, money, { attempts }, wasBooked) => {
  const others = attempts.filter(({ orderId }) => orderId !== order.id);
  const holders = others.filter((one) => isBooked(one) || isSameAttempt(one, money));
  if (holders.length === 0 || wasBooked) return 'taken';
  const isOutranked = holders.every(({ registered, paidSource }) => !registered && paidSource !== 'provider');
  const isIts = order.attempts.some((one) => one.registered && isSameAttempt(one, money));
  return isIts && isOutranked && money.source === 'provider' ? 'outranks' : 'refused';
};

const weaker = (name: string, changes: Partial<Wiring>): Wiring => ({ ...OURS, shows: 'charged', ...changes, name });

/** First the steps by which the algorithm grew, the weakest first; then ours with one of its rules left out. */
export const WEAKER: readonly Wiring[] = [
  errorsAreUnpaid,
  closesHereOnly,
  ignoresClose,
  notFoundIsClosed,
  withoutLatePath,
  // Decides on attempts as they were before its transaction got the lock, as REPEATABLE READ does.
  weaker('reads-snapshots', { sees: 'snapshot' }),
  // What the shop reports counts like the provider's word.
  weaker('believes-reports', { believes: (money) => ({ ...money, source: 'provider' }) }),
  // Each name of a payment is a payment.
  weaker('counts-names', { believes: (money) => ({ ...money, transactionId: null }), shows: 'doubled' }),
  // A reference alone identifies a payment.
  weaker('ignores-accounts', { knowsAccounts: false }),
  // A notification without an amount only wakes what is due.
  weaker('drops-news', { looksUpOnChange: false }),
  // An operator's word that attempts are closed is believed for good, and given without a look at the provider.
  weaker('believes-operators', { checksDeclared: false }),
  // Money that came before its order waits for the deadline, also where there is none.
  weaker('waits-for-deadlines', { earlyMoneyTimeout: () => [], shows: 'endless' }),
  // A refund that is done is never asked for again.
  weaker('forgets-refunds', { checksRefunds: false, shows: 'lost' }),
  // What a person has settled is known to the row of the list alone, and moves again.
  weaker('forgets-settlements', { settles: false, shows: 'twice' }),
  // What an erased or purged order had is taken for new money when it is told again.
  weaker('forgets-payments', { remembers: false, shows: 'twice' }),
  // What a person has settled is known to the row of the list alone, and that is purged.
  weaker('purges-settlements', { keepsSettled: false, shows: 'twice', draws: ['clerks', 'eager', 'forgets'] }),
  // What was settled before its attempt was registered is refused, and the attempt stays undecided.
  weaker('refuses-settled', {
    booksSettled: false,
    splitTaken: (order, findings, known) => {
      const { left, taken, settled, ...rest } = splitTaken(order, findings, known);
      const unclear = { type: 'UNKNOWN', reason: 'a person has settled it', needsPerson: true } as const;
      return {
        left: left.map((found) => (found.isSettled ? { ...found, isSettled: false, finding: unclear } : found)),
        ...rest,
        taken: [...taken, ...settled],
        settled: [],
      };
    },
    shows: 'endless',
    draws: ['clerks', 'early', 'eager'],
  }),
  // What was settled as a mere report stays settled, whatever the provider says.
  weaker('swallows-settled', { tellsOfSettled: false, shows: 'lost', draws: ['lies', 'parts', 'clerks', 'eager'] }),
  // Each transaction id is that of a payment, also in a report.
  weaker('believes-ids', { doubtsIds: false, shows: 'doubled', draws: ['open', 'reports'] }),
  // An account that is not known is one of its own.
  weaker('splits-accounts', { resolvesAccounts: false, shows: 'doubled', draws: ['accounts'] }),
  // Whatever a provider states is an amount of money.
  weaker('believes-amounts', { checksAmounts: false, draws: ['odd'] }),
  // What of a payment is too much is known to nobody.
  weaker('hides-excess', { showsExcess: false, shows: 'lost' }),
  // Waiting is counted from when it was due, so that after a pause each unclear answer counts.
  weaker('counts-from-due', { countsFromLookUp: false, shows: 'endless', draws: ['pause'] }),
  // Days in which the provider says that the buyer is paying count as days without a clear answer.
  weaker('remembers-unclear', { forgetsUnclear: false, shows: 'endless', draws: ['debits'] }),
  // A second payment under one reference is taken for a repetition of the first.
  weaker('folds-payments', { distinguishes: false, shows: 'lost' }),
  // A report elsewhere counts as much as the provider's word about a registered attempt.
  weaker('believes-claims', {
    decideClaim: heedsClaims,
    splitTaken: (order, findings, { attempts }) => {
      const isTaken = (money: Money): boolean => {
        const same = attempts.filter((one) => isSameAttempt(one, money) || isSamePayment(one, money));
        return (
          heedsClaims(order, money, { attempts: same, unowned: [] }, bookMoney(order, money).wasBooked) === 'refused'
        );
      };
      const taken = paymentsFound(findings).filter(isTaken);
      const isLeft = (found: AttemptFinding): boolean => !taken.some((one) => isSameAttempt(one, found));
      const unclear = { type: 'UNKNOWN', reason: 'another order has it', needsPerson: true } as const;
      return {
        left: findings.map((found) => (isLeft(found) ? found : { ...found, finding: unclear })),
        taken,
        settled: [],
        disputed: [],
        anyones: [],
      };
    },
    asksAboutClaims: false,
  }),
  // The policy of a partial payment holds for canceled orders, too, and keeps them CLOSING for a person.
  weaker('parks-cancellations', {
    planClosing: (order, due, now, partial) => planClosing(order, due, now, partial === 'park' ? 'keep' : partial),
    shows: 'endless',
  }),
  // All attempts are asked about at once, so the rate limit of the provider is used up by questions.
  weaker('asks-all-at-once', { lanes: Infinity, shows: 'endless' }),
];
