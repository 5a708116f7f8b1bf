import { assertNever } from '../../errors';
import { type PaidOutcome, type PaymentEvidence } from '../../payments';
import { type LookUpAnswers } from '../../timeouts';
import {
  type AttemptName,
  canTakeMoney,
  hasRegistered,
  isBooked,
  isErasedAttempt,
  type PaymentAttempt,
  withStatus,
  type LockedOrder,
  isSameRow,
  isUndecided,
  isUnconfirmed,
} from './order';
import { bookMoney, type Money, isPaidByReports, type AttemptWrite } from './money';

export type Finding =
  | PaidOutcome
  /** Proven to take no more money. `wasOpen`: this look-up has closed it. */
  | { readonly type: 'CLOSED'; readonly evidence: PaymentEvidence; readonly wasOpen?: true }
  /** The buyer is paying, or the money is on its way or on hold. */
  | { readonly type: 'IN_PROGRESS'; readonly reason: string }
  /** Unknown to the provider, which proves nothing before `finalAt`. Null: the attempt has no time_expire. */
  | { readonly type: 'NOT_FOUND_YET'; readonly finalAt: Date | null }
  /** `isKnownThere`: an earlier answer of the provider showed that it knows the attempt. */
  | {
      readonly type: 'UNKNOWN';
      readonly reason: string;
      readonly retryAfterMs?: number;
      readonly isKnownThere?: true;
      /** Another look-up brings nothing new. */
      readonly needsPerson?: boolean;
      /** An operator has paused the provider, so it was not asked. */
      readonly paused?: boolean;
    }
  /** A payment was reported, and the provider contradicts it. */
  | { readonly type: 'UNCONFIRMED'; readonly reason: string }
  | { readonly type: 'NO_PROVIDER'; readonly reason: string };

export interface AttemptFinding extends AttemptName {
  readonly finding: Finding;
  /** A person had settled the payment that was found before its attempt was registered. @default false */
  readonly isSettled?: boolean;
}

/**
 * Pure: returns the attempt after a finding that is not a payment. Final attempts, and attempts that the finding does
 * not change, are returned as the same object.
 */
export function applyFinding(attempt: PaymentAttempt, finding: Exclude<Finding, PaidOutcome>): PaymentAttempt {
  if (!canTakeMoney(attempt)) return attempt;
  switch (finding.type) {
    case 'CLOSED':
      return withStatus(attempt, 'CLOSED');
    case 'UNKNOWN':
      // An attempt that was never handed over stays recognizable as such.
      if (attempt.status === 'CREATED' && !finding.isKnownThere) return attempt;
      return withStatus(attempt, 'UNKNOWN');
    case 'IN_PROGRESS':
      return withStatus(attempt, 'OPEN');
    case 'NOT_FOUND_YET':
    case 'UNCONFIRMED':
    case 'NO_PROVIDER':
      return attempt;
    default:
      return assertNever(finding);
  }
}

/** Pure: returns the order with its attempts after the findings. Unchanged attempts stay the same objects. */
export function withFindings(order: LockedOrder, findings: readonly AttemptFinding[]): LockedOrder {
  return findings.reduce(withFinding, order);
}

export function attemptWrites(
  before: LockedOrder,
  after: LockedOrder,
  findings: readonly AttemptFinding[],
): AttemptWrite[] {
  const changed = after.attempts.filter((attempt) => !before.attempts.includes(attempt));
  return changed.map((attempt) => {
    const isNew = !before.attempts.some((one) => isSameRow(one, attempt));
    return { attempt, isNew, evidence: evidenceOf(attempt, findings) };
  });
}

export function paymentsFound(findings: readonly AttemptFinding[]): Money[] {
  return findings.flatMap((found) => (found.finding.type === 'PAID' ? [moneyOf(found, found.finding)] : []));
}

function withFinding(order: LockedOrder, found: AttemptFinding): LockedOrder {
  const { finding } = found;
  const asked = order.attempts.find((attempt) => isSameRow(attempt, found));
  // It was registered for another order, or removed, after it was looked up.
  if (!asked) return order;
  if (finding.type === 'PAID') return bookMoney(order, moneyOf(found, finding)).after;
  const changed = applyFinding(asked, finding);
  if (changed === asked) return order;
  return { ...order, attempts: order.attempts.map((attempt) => (attempt === asked ? changed : attempt)) };
}

function moneyOf(
  { provider, reference, merchantAccount, resolvedAccount, isSettled = false }: Omit<AttemptFinding, 'finding'>,
  { amount, currency, paidAt, transactionId }: Extract<Finding, { type: 'PAID' }>,
): Money {
  const names = { provider, reference, merchantAccount, resolvedAccount: resolvedAccount ?? null, transactionId };
  return { ...names, amount, currency, paidAt, source: 'provider', isSettled };
}

/** A second payment under one reference is named by its transaction id. */
function hasId({ provider, finding }: AttemptFinding, { provider: of, reference }: PaymentAttempt): boolean {
  return finding.type === 'PAID' && provider === of && finding.transactionId === reference;
}

function evidenceOf(attempt: PaymentAttempt, findings: readonly AttemptFinding[]): AttemptWrite['evidence'] {
  const own = findings.find((found) => isSameRow(found, attempt)) ?? findings.find((found) => hasId(found, attempt));
  const finding = own?.finding;
  switch (finding?.type) {
    case 'PAID':
    case 'CLOSED':
      return { ...finding.evidence };
    case 'UNKNOWN':
    case 'IN_PROGRESS':
      return { reason: finding.reason };
    default:
      return null;
  }
}

/** How long to wait before the next look-up, and whether this wait counts toward the timeout's maxAttempts. */
export interface Wait {
  readonly reason: string;
  /** Milliseconds; absent: the engine's back-off. */
  readonly afterMs?: number;
  readonly counted: boolean;
  /** `none`: an operator has paused a provider. After a `clear` answer, too, the time until waits count begins anew. */
  readonly answers?: LookUpAnswers | undefined;
}

export type OpenFinding = Exclude<Finding, { type: 'PAID' | 'CLOSED' }>;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Look-ups without a clear answer count only after this time, so that what waits is parked with an alert. Refunds, too. */
export const LONGEST_UNCOUNTED_MS = 24 * HOUR;

/** When a timeout became due, and since when it has been looked up without a clear answer. */
export interface Asked {
  readonly dueAt: Date;
  readonly askedSince?: Date;
}

/**
 * Pure: returns how long look-ups have brought no clear answer, or an hour after one. It counts from the first one, not
 * from when the timeout became due: after a pause or an outage of a day, each 503 would count, and the fifth would park.
 */
export function waitedMs({ askedSince, dueAt }: Asked, now: Date): number {
  return now.getTime() - (askedSince ?? dueAt).getTime();
}

export function waitForFinding(finding: OpenFinding, waitedMs: number, now: Date): Wait {
  const counted = waitedMs > LONGEST_UNCOUNTED_MS;
  switch (finding.type) {
    case 'NO_PROVIDER':
      return { reason: finding.reason, counted: true };
    case 'IN_PROGRESS':
      // A bank debit may take days. It is looked up until it ends, and never parked.
      return { reason: finding.reason, afterMs: inProgressMs(waitedMs), counted: false, answers: 'clear' };
    case 'NOT_FOUND_YET':
      return notFound(finding.finalAt, waitedMs, now, counted);
    case 'UNCONFIRMED':
      return { reason: finding.reason, counted: true };
    case 'UNKNOWN':
      return waitForUnknown(finding, waitedMs);
    default:
      return assertNever(finding);
  }
}

/** The wait after an unclear answer, for look-ups and refunds. @param leastMs the shortest wait */
export function waitForUnknown(
  { reason, retryAfterMs = 0, paused, needsPerson }: Extract<Finding, { type: 'UNKNOWN' }>,
  waitedMs: number,
  leastMs = 0,
): Wait {
  if (needsPerson) return { reason, counted: true };
  const afterMs = Math.max(leastMs, unknownMs(waitedMs), Math.min(retryAfterMs, MINUTE));
  if (paused) return { reason, counted: false, afterMs, answers: 'none' };
  const counted = waitedMs > LONGEST_UNCOUNTED_MS;
  return { reason, counted, ...(counted ? {} : { afterMs }) };
}

/** The wait that ends first. A counted wait may park the order, so it is used only if all waits are counted. */
export function shortestOf(waits: readonly Wait[]): Wait | undefined {
  const uncounted = waits.filter((wait) => !wait.counted);
  const candidates = uncounted.length > 0 ? uncounted : waits;
  const msOf = ({ afterMs = Infinity }: Wait): number => afterMs;
  const shortest = candidates.reduce<Wait | undefined>(
    (best, wait) => (best && msOf(best) <= msOf(wait) ? best : wait),
    undefined,
  );
  return shortest && withAnswers(shortest, waits);
}

/** Of all providers that were asked. */
function withAnswers(wait: Wait, waits: readonly Wait[]): Wait {
  const isClear = waits.every(({ answers }) => answers === 'clear');
  const answers = waits.some((one) => one.answers === 'none') ? 'none' : isClear ? 'clear' : undefined;
  return wait.answers === answers ? wait : { ...wait, answers };
}

/** The recovery of a provider must be noticed within seconds, but one that stays unavailable must not be flooded. */
function unknownMs(waitedMs: number): number {
  if (waitedMs < 30 * SECOND) return 2 * SECOND;
  if (waitedMs < 5 * MINUTE) return 5 * SECOND;
  return waitedMs < HOUR ? 15 * SECOND : MINUTE;
}

/** WeChat Pay asks for 3 to 5 s before the next query while the buyer enters the password. */
function inProgressMs(waitedMs: number): number {
  if (waitedMs < 10 * MINUTE) return 4 * SECOND;
  return waitedMs < HOUR ? 15 * SECOND : MINUTE;
}

function notFound(finalAt: Date | null, waitedMs: number, now: Date, counted: boolean): Wait {
  // The buyer may scan the code in the meantime, so look it up before `finalAt`, too.
  const pollMs = waitedMs < HOUR ? 15 * SECOND : MINUTE;
  if (finalAt) {
    const untilMs = finalAt.getTime() - now.getTime();
    // `finalAt` has passed by this clock, but not by the provider's clock, which is behind.
    const leftMs = untilMs > 0 ? Math.max(untilMs, SECOND / 2) : 5 * SECOND;
    return {
      reason: `not known to the provider; final at ${finalAt.toISOString()}`,
      afterMs: Math.min(leftMs, pollMs),
      counted: false,
      answers: 'clear',
    };
  }
  const reason =
    'not known to the provider, and the attempt has no timeExpire that would make this final; ' +
    'make sure that it can no longer be paid, register it again with a timeExpire, and replay the timeout';
  return { reason, counted, ...(counted ? {} : { afterMs: pollMs }) };
}

/** Providers answer from replicas that lag behind their notifications. None lags longer than this. */
const LONGEST_LAG_MS = 10 * MINUTE;

/**
 * Pure: returns how long to wait before the next look-up of an order. `due` was scheduled by a notification or report.
 * Undefined: the answers are final. `order` is its state after those answers.
 */
export function waitForProviders(
  order: LockedOrder,
  findings: readonly AttemptFinding[],
  now: Date,
  due: Asked,
): Wait | undefined {
  const waits = findings.flatMap((found): Wait[] => {
    const { finding } = found;
    const attempt = order.attempts.find((one) => isSameRow(one, found));
    if (isConfirmed(attempt)) return [];
    const isReported = attempt !== undefined && isUnconfirmed(attempt);
    // Another process may have the provider. Nobody has that of a mere report, such as of cash, which a person may assign.
    const isUnasked = finding.type === 'NO_PROVIDER' && attempt !== undefined && hasRegistered(attempt);
    if (finding.type !== 'UNKNOWN' && !isUnasked && !(finding.type === 'IN_PROGRESS' && isReported)) return [];
    return [named(found, waitForFinding(finding, waitedMs(due, now), now))];
  });
  const isHidden = isUnseen(order, findings);
  return shortestOf([...waits, ...(isHidden ? waitForLag(now, due, 'the providers show no payment yet') : [])]);
}

/**
 * Pure: the same for payments that their providers have confirmed, after which another may have come. Nothing else is left
 * to decide about them, so nobody is called, and nothing else waits for it.
 */
export function waitForOthers(
  order: LockedOrder,
  findings: readonly AttemptFinding[],
  now: Date,
  due: Asked,
): Wait | undefined {
  const waits = findings.flatMap((found): Wait[] => {
    const { finding } = found;
    if (!isConfirmed(order.attempts.find((one) => isSameRow(one, found)))) return [];
    // Another process may have the provider.
    if (finding.type === 'NO_PROVIDER') return waitForLag(now, due, finding.reason);
    const wait = finding.type === 'UNKNOWN' ? waitForUnknown(finding, waitedMs(due, now)) : undefined;
    return wait && !wait.counted ? [named(found, wait)] : [];
  });
  return shortestOf(waits);
}

function isConfirmed(attempt: PaymentAttempt | undefined): boolean {
  return attempt?.paidSource === 'provider';
}

function named({ provider, reference }: AttemptFinding, wait: Wait): Wait {
  return { ...wait, reason: `${provider} ${reference}: ${wait.reason}` };
}

/**
 * The reported change may not be visible yet. It may be a payment, and nobody else asks for it: an undecided order may
 * have no deadline, and one that is paid only by a report has nothing to wait for.
 */
function isUnseen(order: LockedOrder, findings: readonly AttemptFinding[]): boolean {
  const reports = order.attempts.filter(isUnconfirmed);
  const isDenied = (found: AttemptFinding): boolean =>
    found.finding.type === 'UNCONFIRMED' && reports.some((one) => isSameRow(one, found));
  if (isPaidByReports(order, order.attempts) && findings.some(isDenied)) return true;
  return isUndecided(order.status) && order.attempts.some(canTakeMoney);
}

function waitForLag(now: Date, { dueAt }: Asked, reason: string): Wait[] {
  const sinceMs = now.getTime() - dueAt.getTime();
  if (sinceMs >= LONGEST_LAG_MS) return [];
  const afterMs = sinceMs < 10 * SECOND ? 5 * SECOND : sinceMs < MINUTE ? 30 * SECOND : 2 * MINUTE;
  return [{ reason, counted: false, afterMs }];
}

/** Whether its provider may tell of another payment under its reference, beside one that it has told of. */
export function mayBeFollowed(attempt: PaymentAttempt): boolean {
  return isBooked(attempt) && !isUnconfirmed(attempt) && hasRegistered(attempt) && !isErasedAttempt(attempt);
}

/** Whether its provider has confirmed less than it asks for, so that the rest may come under the same reference. */
export function isIncomplete(attempt: PaymentAttempt): boolean {
  const { status, amount, currency, paidAmount, paidCurrency } = attempt;
  return status === 'PAID' && mayBeFollowed(attempt) && (paidCurrency !== currency || (paidAmount ?? 0n) < amount);
}
