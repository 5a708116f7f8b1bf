import { assertNever } from '../../errors';
import { LOOK_UP, DONE, type DueTimeout, type TimeoutOutcome } from '../../timeouts';
import { type AttemptFinding } from '../lookup/attempt-finding';
import { decideClosing, type PartialPolicy, refundsPart } from './decide-closing';
import { decideAfterLookUp } from './decide-after-look-up';
import { moneyReceived } from '../pay/money-received';
import { unmatchedFromAttempt } from '../unmatched/unmatched-from-attempt';
import { type LockedOrder } from '../order';
import { type OrderStatus } from '../order-status';
import { type AttemptWrite } from '../sql/write-attempts';
import { type UnmatchedHandling, type UnmatchedMoney } from '../unmatched/unmatched-money';
import { canTakeMoney, type PaymentAttempt } from '../payment-attempt';
import { type Transition, transition } from '../transition';
import { type Wait, waitedMs } from '../lookup/wait-for-finding';
import { attemptWrites, withFindings } from '../lookup/with-findings';

/** The result of one due timeout: what to write, and what to tell the engine. */
export interface ClosingPlan {
  readonly outcome: TimeoutOutcome;
  /** The order after the plan, including its attempts. */
  readonly after: LockedOrder;
  readonly transition?: Transition;
  readonly findings: readonly AttemptFinding[];
  /** Attempts that the findings have changed. */
  readonly writes: readonly AttemptWrite[];
  /** Partial payments, which are refunded before the order is closed. */
  readonly returns: readonly PaymentAttempt[];
  /** Partial payments, which wait for a person. */
  readonly unmatched: readonly UnmatchedMoney[];
}

/**
 * The order is paid and another attempt is open. The next run closes that attempt, so that the buyer cannot pay twice.
 */
const CLOSE_THE_REST: TimeoutOutcome = { type: 'retry', counted: false, afterMs: 0, reason: 'other attempts are open' };

type Due = DueTimeout<AttemptFinding[]>;
type Effect = Pick<ClosingPlan, 'outcome'> & Partial<Pick<ClosingPlan, 'transition' | 'returns' | 'unmatched'>>;

/** Pure: plans the writes for a locked order and the look-ups of its attempts, if there were any. */
export function planClosing(order: LockedOrder, due: Due, now: Date, partial: PartialPolicy): ClosingPlan {
  const findings = due.answer ?? [];
  const after = withFindings(order, findings);
  const writes = attemptWrites(order, after, findings);
  const effect = due.answer ? planAfterLookUp(order, after, due, now, partial) : planFirst(order, due, now, partial);
  const status = effect.transition?.to ?? order.status;
  const version = effect.transition ? order.version + 1 : order.version;
  return { findings, writes, returns: [], unmatched: [], after: { ...after, status, version }, ...effect };
}

function planFirst(order: LockedOrder, due: Due, now: Date, partial: PartialPolicy): Effect {
  const decision = decideClosing(order, now, partial);
  switch (decision.type) {
    case 'terminal':
      return { outcome: DONE };
    // Both may have adopted a part of the price just now, which nobody has been told.
    case 'opted-out':
      return { outcome: DONE, unmatched: insufficientMoney(order, due, now) };
    case 'not-due': {
      const outcome = { type: 'reschedule', dueAt: decision.dueAt } as const;
      return { outcome, unmatched: insufficientMoney(order, due, now, handlingOf(order, partial)) };
    }
    case 'look-up':
      return { outcome: LOOK_UP, ...(decision.entersClosing ? { transition: step(order, 'CLOSING', due, now) } : {}) };
    case 'close':
      return { outcome: DONE, transition: step(order, decision.to, due, now), returns: decision.returns };
    case 'pay': {
      const outcome = order.attempts.some(canTakeMoney) ? CLOSE_THE_REST : DONE;
      return { outcome, transition: step(order, 'PAID', due, now) };
    }
    case 'park':
      // Before a person is called: the rest may have arrived through an attempt that did not stay closed.
      if (order.attempts.some(({ status }) => status === 'CLOSED')) return { outcome: LOOK_UP };
      return { outcome: { type: 'park', reason: decision.reason }, unmatched: insufficientMoney(order, due, now) };
    default:
      return assertNever(decision);
  }
}

function planAfterLookUp(order: LockedOrder, after: LockedOrder, due: Due, now: Date, partial: PartialPolicy): Effect {
  const findings = due.answer ?? [];
  const decision = decideAfterLookUp(order, findings, now, waitedMs(due, now), partial);
  const evidence = { attempts: findings.map(evidenceOf) };
  switch (decision.type) {
    case 'paid':
      return { outcome: outcomeOf(decision.wait), transition: step(order, 'PAID', due, now, evidence) };
    case 'closed':
    case 'cancelled': {
      const to = decision.type === 'closed' ? 'CLOSED' : 'CANCELLED';
      return { outcome: DONE, transition: step(order, to, due, now, evidence), returns: decision.returns };
    }
    case 'wait':
      // Reported now: the wait for another attempt may end in a parked timeout that does not mention this money.
      return {
        outcome: outcomeOf(decision),
        unmatched: insufficientMoney(after, due, now, handlingOf(order, partial)),
      };
    case 'park':
      return { outcome: decision, unmatched: insufficientMoney(after, due, now) };
    case 'decided':
      return { outcome: outcomeOf(decision.wait) };
    default:
      return assertNever(decision);
  }
}

function outcomeOf(wait: Wait | undefined): TimeoutOutcome {
  if (!wait) return DONE;
  const { reason, counted, afterMs, unasked } = wait;
  return { type: 'retry', reason, counted, ...(afterMs !== undefined && { afterMs }), ...(unasked && { unasked }) };
}

function step(order: LockedOrder, to: OrderStatus, due: Due, now: Date, evidence?: object): Transition {
  const cancelled = order.closingReason === 'cancelled';
  return transition(order, to, {
    by: { cause: due.cause, traceparent: due.traceparent },
    now,
    reason: to === 'PAID' ? 'compensated' : cancelled ? 'cancelled' : 'expired',
    ...(to === 'PAID' ? {} : { closingReason: cancelled ? ('cancelled' as const) : ('expired' as const) }),
    ...(evidence ? { evidence: { ...evidence } } : {}),
  });
}

/** What happens to a part of the price until the order is decided. */
function handlingOf(order: LockedOrder, partial: PartialPolicy): UnmatchedHandling {
  return refundsPart(order, partial) ? 'waiting' : 'kept';
}

function insufficientMoney(
  order: LockedOrder,
  { cause, traceparent }: Due,
  now: Date,
  handling: UnmatchedHandling = 'kept',
): UnmatchedMoney[] {
  const money = moneyReceived(order, order.attempts);
  if (money.type !== 'insufficient') return [];
  const paid = order.attempts.filter((attempt) => attempt.status === 'PAID');
  const why = { reason: money.reason, handling, now, traceparent };
  return paid.map((attempt) => {
    return { ...unmatchedFromAttempt(attempt, why), evidence: { cause } };
  });
}

/** A finding as JSON. A bigint becomes decimal text. */
function evidenceOf({ provider, reference, finding }: AttemptFinding): object {
  return { provider, reference, ...finding, ...(finding.type === 'PAID' ? { amount: finding.amount.toString() } : {}) };
}
