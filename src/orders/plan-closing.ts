import { assertNever } from '../errors';
import { ASK, DONE, type DueTimeout, type TimeoutOutcome } from '../timeouts';
import { type AttemptFinding } from './attempt-finding';
import { decideClosing } from './decide-closing';
import { decideSettlement, type Settlement, withFindings } from './decide-settlement';
import { moneyReceived } from './money-received';
import { type LockedOrder } from './order';
import { type OrderStatus } from './order-status';
import { type UnexpectedMoney } from './order-store';
import { canTakeMoney, isSameAttempt } from './payment-attempt';
import { type Transition, transition } from './transition';
import { type Wait } from './wait-for-finding';

/** Everything that one due timeout leads to: what is written, and what the engine is told. */
export interface ClosingPlan {
  readonly outcome: TimeoutOutcome;
  readonly transition?: Transition;
  readonly findings: readonly AttemptFinding[];
  readonly unexpected: readonly UnexpectedMoney[];
}

/** The order is paid, and an attempt is still open: the next round closes it, so that nobody pays twice. */
const CLOSE_THE_REST: TimeoutOutcome = { type: 'retry', counted: false, afterMs: 0, reason: 'other attempts are open' };

type Due = DueTimeout<AttemptFinding[]>;

/** Pure: from a locked order, and answers where providers were asked, to what has to be written. */
export function planClosing(order: LockedOrder, due: Due, now: Date): ClosingPlan {
  return due.answer ? planWithAnswer(order, due, due.answer, now) : planFirst(order, due, now);
}

function planFirst(order: LockedOrder, due: Due, now: Date): ClosingPlan {
  const decision = decideClosing(order, now);
  switch (decision.type) {
    case 'terminal':
    case 'opted-out':
      return plan(DONE);
    case 'not-due':
      return plan({ type: 'reschedule', dueAt: decision.dueAt });
    case 'ask':
      return decision.entersClosing ? plan(ASK, step(order, 'CLOSING', due, now, {})) : plan(ASK);
    case 'close':
      return plan(DONE, step(order, decision.to, due, now, {}));
    case 'pay': {
      const outcome = order.attempts.some(canTakeMoney) ? CLOSE_THE_REST : DONE;
      return { ...plan(outcome, step(order, 'PAID', due, now, {})), unexpected: surplusOf(order, due, now) };
    }
    case 'park':
      return plan({ type: 'park', reason: decision.reason });
    default:
      return assertNever(decision);
  }
}

function planWithAnswer(order: LockedOrder, due: Due, findings: readonly AttemptFinding[], now: Date): ClosingPlan {
  const settlement = decideSettlement(order, findings, now, due.dueAt);
  const unexpected = unexpectedMoney(order, findings, settlement, due, now);
  return { ...planSettlement(order, settlement, findings, due, now), findings, unexpected };
}

function planSettlement(
  order: LockedOrder,
  settlement: Settlement,
  findings: readonly AttemptFinding[],
  due: Due,
  now: Date,
): ClosingPlan {
  const evidence = { attempts: findings.map(evidenceOf) };
  switch (settlement.type) {
    case 'paid':
      return plan(outcomeOf(settlement.wait), step(order, 'PAID', due, now, evidence));
    case 'closed':
      return plan(DONE, step(order, 'CLOSED', due, now, evidence));
    case 'cancelled':
      return plan(DONE, step(order, 'CANCELLED', due, now, evidence));
    case 'wait':
      return plan(outcomeOf(settlement));
    case 'park':
      return plan(settlement);
    case 'decided':
      return plan(outcomeOf(settlement.wait));
    default:
      return assertNever(settlement);
  }
}

function plan(outcome: TimeoutOutcome, moved?: Transition): ClosingPlan {
  return { outcome, findings: [], unexpected: [], ...(moved ? { transition: moved } : {}) };
}

function outcomeOf(wait: Wait | undefined): TimeoutOutcome {
  if (!wait) return DONE;
  const { reason, counted, afterMs } = wait;
  return { type: 'retry', reason, counted, ...(afterMs === undefined ? {} : { afterMs }) };
}

function step(order: LockedOrder, to: OrderStatus, due: Due, now: Date, evidence: object): Transition {
  const cancelled = order.closingReason === 'cancelled';
  return transition(order, to, {
    by: { cause: due.cause, traceparent: due.traceparent },
    now,
    reason: to === 'PAID' ? 'compensated' : cancelled ? 'cancelled' : 'expired',
    ...(to === 'PAID' ? {} : { closingReason: cancelled ? ('cancelled' as const) : ('expired' as const) }),
    ...(Object.keys(evidence).length > 0 ? { evidence: { ...evidence } } : {}),
  });
}

/** Money that was found and is not needed, or comes too late for this order. */
function unexpectedMoney(
  order: LockedOrder,
  findings: readonly AttemptFinding[],
  settlement: Settlement,
  due: Due,
  now: Date,
): UnexpectedMoney[] {
  const after = withFindings(order, findings);
  if (settlement.type === 'paid' || order.status === 'PAID') return surplusOf(after, due, now);
  if (settlement.type === 'park') return insufficientMoney(after, due, now);
  if (settlement.type !== 'decided') return [];
  const paid = after.attempts.filter(
    (attempt) => attempt.status === 'PAID' && findings.some((found) => isSameAttempt(found, attempt)),
  );
  return paid.map((attempt) => stray(attempt, 'late', due, now));
}

function surplusOf(order: LockedOrder, due: Due, now: Date): UnexpectedMoney[] {
  const money = moneyReceived(order, order.attempts);
  return money.type === 'sufficient' ? money.surplus.map((attempt) => stray(attempt, 'surplus', due, now)) : [];
}

function insufficientMoney(order: LockedOrder, due: Due, now: Date): UnexpectedMoney[] {
  const money = moneyReceived(order, order.attempts);
  if (money.type !== 'insufficient') return [];
  return order.attempts
    .filter((attempt) => attempt.status === 'PAID')
    .map((attempt) => stray(attempt, money.reason, due, now));
}

function stray(
  attempt: LockedOrder['attempts'][number],
  reason: UnexpectedMoney['reason'],
  { cause, traceparent }: Due,
  now: Date,
): UnexpectedMoney {
  const { orderId, provider, reference, paidAmount, paidCurrency, transactionId } = attempt;
  return {
    reason,
    orderId,
    provider,
    reference,
    amount: paidAmount ?? 0n,
    currency: paidCurrency ?? '',
    evidence: { cause, transactionId },
    now,
    traceparent,
  };
}

/** JSON of a finding: bigint becomes a decimal text. */
function evidenceOf({ provider, reference, finding }: AttemptFinding): object {
  return { provider, reference, ...finding, ...(finding.type === 'PAID' ? { amount: finding.amount.toString() } : {}) };
}
