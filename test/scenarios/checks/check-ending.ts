import { type OrderFacts } from './order-facts';
import { type Violation } from './violation';

const TERMINAL: readonly string[] = ['PAID', 'CLOSED', 'CANCELLED', 'CLOSED_REFUNDED'];
const DONE: readonly string[] = ['PAID', 'CLOSED', 'REFUNDED', 'DUPLICATE'];

const other = (says: string): Violation => ({ kind: 'other', says });

/** The order has ended, nothing is pending any more, and the end is the scenario's. */
export function checkEnding(facts: OrderFacts): Violation[] {
  const { stored, order, timeouts, attempts } = facts;
  if (!stored) return [other('the order is not in the database')];
  const left = timeouts.map(({ kind, state, lastError }) => `${kind} ${state} (${lastError ?? 'no error'})`);
  if (!TERMINAL.includes(stored.status) || left.length > 0) {
    return [{ kind: 'never-ends', says: `${stored.status}, left: ${left.join('; ') || 'nothing'}` }];
  }
  const open = attempts.filter((attempt) => !DONE.includes(attempt.status));
  return [
    ...open.map((attempt) => other(`attempt ${attempt.reference} is still ${attempt.status}`)),
    ...checkEarliness(facts),
    ...(order.isTooLate ? [] : checkPlan(facts)),
  ];
}

function checkPlan(facts: OrderFacts): Violation[] {
  return [...checkStatus(facts), ...checkAttempts(facts), ...checkRefundCount(facts), ...checkUnmatched(facts)];
}

function checkAttempts({ attempts, order }: OrderFacts): Violation[] {
  const found = attempts.map(({ status }) => status).sort();
  const expected = [...(order.plan.ends.attempts ?? found)].sort();
  if (found.join() === expected.join()) return [];
  return [other(`attempts [${found.join(', ')}] instead of [${expected.join(', ')}]`)];
}

function checkStatus({ stored, order }: OrderFacts): Violation[] {
  const { status } = order.plan.ends;
  if (!stored || status.includes(stored.status)) return [];
  return [other(`${stored.status} instead of ${status.join(' or ')}`)];
}

function checkRefundCount({ stored, order, refunds }: OrderFacts): Violation[] {
  const expected = order.plan.ends.refunds ?? (stored?.status === 'CLOSED_REFUNDED' ? 1 : 0);
  return refunds.length === expected ? [] : [other(`${refunds.length} refunds instead of ${expected}`)];
}

/** Money that was not simply the order's is on record, and nothing else is. */
function checkUnmatched(facts: OrderFacts): Violation[] {
  const found = facts.unmatched.map(({ reason, handling }) => `${reason}/${handling}`).sort();
  const expected = [...(facts.order.plan.ends.unmatched ?? impliedUnmatched(facts))].sort();
  if (found.join() === expected.join()) return [];
  return [other(`unmatched payments [${found.join(', ')}] instead of [${expected.join(', ')}]`)];
}

function impliedUnmatched({ stored, history, refunds, order }: OrderFacts): string[] {
  const isRevived = history.some(({ from, to }) => from === 'CLOSED' && to === 'PAID');
  const reason = stored?.status === 'PAID' ? 'surplus' : 'late';
  const rejected = order.plan.payments.filter(({ rejectRefunds = 0 }) => rejectRefunds > 0);
  return [
    ...(isRevived ? ['late/revived'] : []),
    ...refunds.map(() => `${reason}/refunding`),
    ...rejected.map(() => 'refund-failed/refunding'),
  ];
}

/** No buyer loses a millisecond of the time that he was promised. */
function checkEarliness({ stored, history }: OrderFacts): Violation[] {
  const begin = history.find(({ to, cause }) => (to === 'CLOSING' || to === 'CLOSED') && cause !== 'api');
  if (!stored || !begin || begin.occurredAt >= stored.expiresAt) return [];
  return [other(`closing began ${stored.expiresAt - begin.occurredAt} ms before the deadline`)];
}
