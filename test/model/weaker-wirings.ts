import { decideLatePayment } from '../../src/orders/late/decide-late-payment';
import { type Facts, nextStep, type Step } from '../../src/orders/next-step';
import { OURS, type Wiring } from './wiring';

const closed: Step = { type: 'conclude', finding: { type: 'CLOSED', evidence: {} } };

/** Nobody looks at closed orders again, as in all of these. */
const withoutLatePath: Wiring = {
  ...OURS,
  name: 'no-late-path',
  decideLatePayment: (order, policy) =>
    order.status === 'PAID' ? decideLatePayment(order, policy) : { type: 'nothing' },
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

/** The steps by which the algorithm of payments grew, each with what it leaves open; the weakest first. */
export const WEAKER: readonly Wiring[] = [
  errorsAreUnpaid,
  closesHereOnly,
  ignoresClose,
  notFoundIsClosed,
  withoutLatePath,
];
