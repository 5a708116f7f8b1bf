import { assertNever, validInstant } from '../../errors';
import { LOOK_UP, DONE, type DueTimeout, type TimeoutOutcome } from '../../timeouts';
import {
  type AttemptFinding,
  type Finding,
  type Wait,
  waitedMs,
  attemptWrites,
  withFindings,
  isIncomplete,
  type OpenFinding,
  shortestOf,
  waitForFinding,
} from './findings';
import { insufficientParts, moneyReceived, type AttemptWrite } from './money';
import { type UnmatchedHandling, type UnmatchedMoney } from './unmatched-money';
import {
  type LockedOrder,
  type OrderStatus,
  canTakeMoney,
  paidAttempts,
  type PaymentAttempt,
  isUndecided,
  isSameRow,
  isUnconfirmed,
  closesAt,
} from './order';
import { causeOf, type Transition, transition } from './transition';
import { type OrderPolicy } from './order-policies';

export interface ClosingPlan {
  readonly outcome: TimeoutOutcome;
  readonly after: LockedOrder;
  readonly transition?: Transition;
  readonly findings: readonly AttemptFinding[];
  readonly writes: readonly AttemptWrite[];
  /** Partial payments, which are refunded before the order is closed. */
  readonly returns: readonly PaymentAttempt[];
  /** Partial payments, which wait for a person. */
  readonly unmatched: readonly UnmatchedMoney[];
}

/** The order is paid and another attempt is open. The next run closes that one, so that the buyer cannot pay twice. */
const CLOSE_THE_REST: TimeoutOutcome = { type: 'retry', counted: false, afterMs: 0, reason: 'other attempts are open' };

type Due = DueTimeout<AttemptFinding[]>;

type Effect = Pick<ClosingPlan, 'outcome'> & Partial<Pick<ClosingPlan, 'transition' | 'returns' | 'unmatched'>>;

export function planClosing(order: LockedOrder, due: Due, now: Date, partial: PartialPolicy): ClosingPlan {
  if (!due.answer) return planOf(order, order, planFirst(order, due, now, partial));
  const after = withFindings(order, due.answer);
  const plan = planOf(order, after, planAfterLookUp(order, after, due, now, partial));
  return { ...plan, findings: due.answer, writes: attemptWrites(order, after, due.answer) };
}

function planOf(order: LockedOrder, after: LockedOrder, effect: Effect): ClosingPlan {
  const status = effect.transition?.to ?? order.status;
  const version = effect.transition ? order.version + 1 : order.version;
  return { findings: [], writes: [], returns: [], unmatched: [], after: { ...after, status, version }, ...effect };
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
  return { ...wait, type: 'retry' };
}

function step(order: LockedOrder, to: OrderStatus, due: Due, now: Date, evidence?: object): Transition {
  const cancelled = order.closingReason === 'cancelled';
  return transition(order, to, {
    by: causeOf(due),
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

/** Pure: how a part of the price of any order is handled for now. Without a closing to come, a person must decide. */
export function handlingOfPart(order: LockedOrder, partial: PartialPolicy): UnmatchedHandling {
  const isDecidedLater = order.status === 'CLOSING' || (order.status === 'PENDING' && order.autoClose);
  return isDecidedLater ? handlingOf(order, partial) : 'kept';
}

function insufficientMoney(
  order: LockedOrder,
  { cause, traceparent }: Due,
  now: Date,
  handling: UnmatchedHandling = 'kept',
): UnmatchedMoney[] {
  const parts = insufficientParts(order, { handling, now, traceparent });
  return parts.map((part) => ({ ...part, evidence: { cause } }));
}

/** A finding as JSON. A bigint becomes decimal text. */
function evidenceOf({ provider, reference, finding }: AttemptFinding): object {
  return { provider, reference, ...finding, ...(finding.type === 'PAID' ? { amount: finding.amount.toString() } : {}) };
}

type LookUpDecision =
  /** `wait`: other attempts of the paid order are open and must be closed. */
  | { readonly type: 'paid'; readonly wait?: Wait }
  /** `returns`: partial payments, which are refunded. */
  | { readonly type: 'closed' | 'cancelled'; readonly returns: readonly PaymentAttempt[] }
  | ({ readonly type: 'wait' } & Wait)
  | { readonly type: 'park'; readonly reason: string }
  /** Another transaction has decided in the meantime. Only the attempts are written. */
  | { readonly type: 'decided'; readonly wait?: Wait };

/** Pure: applies the findings. The order must have been read under its lock. `waitedMs`: since the first look-up. */
export function decideAfterLookUp(
  order: LockedOrder,
  findings: readonly AttemptFinding[],
  now: Date,
  waitedMs: number,
  partial: PartialPolicy,
): LookUpDecision {
  const after = withFindings(order, findings);
  const wait = waitFor(after, findings, now, waitedMs);
  if (!isUndecided(order.status)) return { type: 'decided', ...(order.status === 'PAID' && wait ? { wait } : {}) };
  if (moneyReceived(after, after.attempts).type === 'sufficient') return { type: 'paid', ...(wait ? { wait } : {}) };
  const unclear = wait ?? waitForConfirmation(after, findings, now, waitedMs);
  if (unclear) return { type: 'wait', ...unclear };
  const decision = decideWithoutOpenAttempts(after, partial);
  switch (decision.type) {
    case 'pay':
      return { type: 'paid' };
    case 'park':
      return decision;
    case 'close':
      return { type: decision.to === 'CANCELLED' ? 'cancelled' : 'closed', returns: decision.returns };
    default:
      return assertNever(decision);
  }
}

/** The shortest wait of all attempts that could still take money. Undefined if there is none. */
function waitFor(
  order: LockedOrder,
  findings: readonly AttemptFinding[],
  now: Date,
  waitedMs: number,
): Wait | undefined {
  const waits = order.attempts
    .filter(canTakeMoney)
    .map((attempt) => waitOf(attempt, openFinding(attempt, findings), waitedMs, now));
  return shortestOf(waits);
}

/**
 * The wait for providers that have not confirmed or denied a reported payment, or that do not say whether the rest of a
 * price has come. Undefined if none is outstanding.
 */
function waitForConfirmation(
  order: LockedOrder,
  findings: readonly AttemptFinding[],
  now: Date,
  waitedMs: number,
): Wait | undefined {
  const waits = order.attempts.filter(isDoubtful).flatMap((attempt) => {
    const found = openFinding(attempt, findings);
    const isFinal = found.type === 'UNCONFIRMED' || found.type === 'NO_PROVIDER' || isToldAgain(attempt, findings);
    return isFinal ? [] : [waitOf(attempt, found, waitedMs, now)];
  });
  return shortestOf(waits);
}

/** The provider may have taken more than the order knows of, or nothing. */
function isDoubtful(attempt: PaymentAttempt): boolean {
  return isUnconfirmed(attempt) || isIncomplete(attempt);
}

/** The provider has told of a payment that the order had, or of one that a person has settled. No other is to be seen. */
function isToldAgain(attempt: PaymentAttempt, findings: readonly AttemptFinding[]): boolean {
  const found = findingOf(attempt, findings);
  return isIncomplete(attempt) && found !== undefined && !isOpen(found);
}

function openFinding(attempt: PaymentAttempt, findings: readonly AttemptFinding[]): OpenFinding {
  const found = findingOf(attempt, findings);
  return isOpen(found) ? found : NOT_ASKED;
}

function findingOf(attempt: PaymentAttempt, findings: readonly AttemptFinding[]): Finding | undefined {
  return findings.find((candidate) => isSameRow(candidate, attempt))?.finding;
}

function waitOf({ provider, reference }: PaymentAttempt, found: OpenFinding, waitedMs: number, now: Date): Wait {
  const wait = waitForFinding(found, waitedMs, now);
  return { ...wait, reason: `${provider} ${reference}: ${wait.reason}` };
}

const NOT_ASKED: OpenFinding = { type: 'UNKNOWN', reason: 'not looked up yet' };

function isOpen(finding: Finding | undefined): finding is OpenFinding {
  return finding !== undefined && finding.type !== 'PAID' && finding.type !== 'CLOSED';
}

/** What a due deadline means for an order, before any look-up. */
type ClosingDecision =
  | { readonly type: 'terminal' }
  | { readonly type: 'opted-out' }
  | { readonly type: 'not-due'; readonly dueAt: Date }
  /** Attempts may take money, so look them up at their providers. `entersClosing`: stop new attempts first. */
  | { readonly type: 'look-up'; readonly entersClosing: boolean }
  /** `returns`: partial payments, which are refunded. */
  | { readonly type: 'close'; readonly to: 'CLOSED' | 'CANCELLED'; readonly returns: readonly PaymentAttempt[] }
  | { readonly type: 'pay' }
  /** The order is paid in part, and a person must decide. */
  | { readonly type: 'park'; readonly reason: string };

/** What happens to an order that is paid in part. `keep`: its money is disputed, so nothing refunds it automatically. */
export type PartialPolicy = OrderPolicy['partialPayment'] | 'keep';

/** Why an order that has money is neither closed nor canceled. */
export interface MoneyRefusal {
  readonly code: 'ORDER_HAS_MONEY';
  readonly payments: readonly Pick<PaymentAttempt, 'provider' | 'reference'>[];
}

/** Pure: the first decision for an order whose deadline was reported. `now`: the database's time under the lock. */
export function decideClosing(order: LockedOrder, now: Date, partial: PartialPolicy): ClosingDecision {
  validInstant(now);
  const hasOpenAttempts = order.attempts.some(canTakeMoney);
  // No buyer may pay twice, so attempts that are open on a paid order are closed, too.
  if (order.status === 'PAID' && hasOpenAttempts) return { type: 'look-up', entersClosing: false };
  if (!isUndecided(order.status)) return { type: 'terminal' };
  const hasNoAttempts = order.attempts.length === 0;
  if (!hasNoAttempts && moneyReceived(order, order.attempts).type === 'sufficient') return { type: 'pay' };
  if (order.status === 'PENDING') {
    if (!order.autoClose) return { type: 'opted-out' };
    const dueAt = closesAt(order);
    if (now < dueAt) return { type: 'not-due', dueAt };
  }
  if (hasOpenAttempts) return { type: 'look-up', entersClosing: order.status === 'PENDING' };
  if (order.attempts.some(isDoubtful))
    return { type: 'look-up', entersClosing: order.status === 'PENDING' && partial === 'refund-and-close' };
  if (hasNoAttempts && !order.waiting) return { type: 'close', to: endOf(order), returns: [] };
  return decideWithoutOpenAttempts(order, partial);
}

function endOf({ closingReason }: Pick<LockedOrder, 'closingReason'>): 'CLOSED' | 'CANCELLED' {
  return closingReason === 'cancelled' ? 'CANCELLED' : 'CLOSED';
}

/** Whether the part of the price that an order has is refunded when it ends. Who cancels it has decided that. */
function refundsPart({ closingReason }: Pick<LockedOrder, 'closingReason'>, partial: PartialPolicy): boolean {
  return partial === 'refund-and-close' || (partial === 'park' && closingReason === 'cancelled');
}

/** Pure: names the payments that an order has, or that wait for a person. */
export function refuseMoney(order: LockedOrder): MoneyRefusal {
  const payments = [...paidAttempts(order), ...(order.waiting ?? [])];
  const named = payments.map(
    ({ provider, reference }) => [`${provider}\n${reference}`, { provider, reference }] as const,
  );
  return { code: 'ORDER_HAS_MONEY', payments: [...new Map(named).values()] };
}

/** A partial payment is refunded automatically only if it is certain that it arrived, and that it is for this order. */
function decidePart(
  order: LockedOrder,
  to: 'CLOSED' | 'CANCELLED',
  sentence: string,
  partial: PartialPolicy,
): Extract<ClosingDecision, { type: 'close' | 'park' }> {
  const paid = paidAttempts(order);
  const doubtful = paid.find((attempt) => isUnconfirmed(attempt) || !attempt.registered);
  if (!refundsPart(order, partial)) return { type: 'park', reason: sentence };
  if (!doubtful) return { type: 'close', to, returns: paid };
  const why = doubtful.registered ? 'the provider does not confirm' : 'no attempt was registered for';
  return { type: 'park', reason: `${sentence}; ${why} the payment ${doubtful.reference} of ${doubtful.provider}` };
}

/** Whether its deadline is being processed, or has left the decision to a person. */
export function isDue(order: LockedOrder, now: Date): boolean {
  if (order.status === 'CLOSING') return true;
  return order.status === 'PENDING' && order.autoClose && now >= closesAt(order);
}

/** Pure: the one rule for every end of an order without open attempts: at its deadline, by cancellation, or manually. */
export function decideWithoutOpenAttempts(
  order: LockedOrder,
  partial: PartialPolicy,
): Extract<ClosingDecision, { type: 'close' | 'pay' | 'park' }> {
  const money = moneyReceived(order, order.attempts);
  if (money.type === 'sufficient') return { type: 'pay' };
  const to = endOf(order);
  const nothing = { type: 'close', to, returns: [] } as const;
  const decision = money.type === 'nothing' ? nothing : decidePart(order, to, money.sentence, partial);
  const [first] = order.waiting ?? [];
  if (decision.type === 'park' || !first) return decision;
  const reason = `${first.provider} has confirmed the payment ${first.reference}, which waits for a person; see the unmatched payments`;
  return { type: 'park', reason };
}

/**
 * Pure: returns the payments to refund if this undecided order is canceled. Undefined: it cannot be, because it is paid,
 * or because a person must decide about its money.
 */
export function refundsOfCancellation(order: LockedOrder): readonly PaymentAttempt[] | undefined {
  const decision = decideWithoutOpenAttempts({ ...order, closingReason: 'cancelled' }, 'refund-and-close');
  return decision.type === 'close' ? decision.returns : undefined;
}
