import { assertNever } from '../../errors';
import { type DueTimeout } from '../../timeouts';
import { type Finding } from './attempt-finding';

/** How long to wait before the next look-up, and whether this wait counts toward the timeout's maxAttempts. */
export interface Wait {
  readonly reason: string;
  /** Milliseconds; absent: the engine's back-off. */
  readonly afterMs?: number;
  readonly counted: boolean;
  /** A provider was not asked, because an operator has paused it. The time until the waits count begins anew. */
  readonly unasked?: boolean;
}

/** A finding that decides nothing yet. */
export type OpenFinding = Exclude<Finding, { type: 'PAID' | 'CLOSED' }>;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/**
 * After this time without a result, runs count, so that what waits is parked with an alert instead of being looked up
 * forever.
 */
export const MAX_DEFER_MS = 24 * HOUR;

/**
 * Pure: returns how long look-ups have brought no result. It counts from the first one, not from when the timeout became
 * due: after a pause or an outage of a day, each 503 would count, and the fifth would park.
 */
export function waitedMs({ askedSince, dueAt }: Pick<DueTimeout, 'askedSince' | 'dueAt'>, now: Date): number {
  return now.getTime() - (askedSince ?? dueAt).getTime();
}

/** Pure: returns the wait for a finding, `waitedMs` after the first look-up. */
export function waitForFinding(finding: OpenFinding, waitedMs: number, now: Date): Wait {
  const counted = waitedMs > MAX_DEFER_MS;
  switch (finding.type) {
    case 'NO_PROVIDER':
      return { reason: finding.reason, counted: true };
    case 'IN_PROGRESS':
      // A bank debit may take days. It is looked up until it ends, and never parked.
      return { reason: finding.reason, afterMs: inProgressMs(waitedMs), counted: false };
    case 'NOT_FOUND_YET':
      return notFound(finding.finalAt, waitedMs, now, counted);
    case 'UNCONFIRMED':
      return { reason: finding.reason, counted: true };
    case 'UNKNOWN': {
      if (finding.needsPerson) return { reason: finding.reason, counted: true };
      const afterMs = Math.max(unknownMs(waitedMs), Math.min(finding.retryAfterMs ?? 0, MINUTE));
      if (finding.paused) return { reason: finding.reason, counted: false, afterMs, unasked: true };
      return { reason: finding.reason, counted, ...(counted ? {} : { afterMs }) };
    }
    default:
      return assertNever(finding);
  }
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
  return shortest && waits.some(({ unasked }) => unasked) ? { ...shortest, unasked: true } : shortest;
}

/**
 * The recovery of a provider must be noticed within seconds, but a provider that stays unavailable must not be flooded.
 */
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
    };
  }
  const reason =
    'not known to the provider, and the attempt has no timeExpire that would make this final; ' +
    'make sure that it can no longer be paid, register it again with a timeExpire, and replay the timeout';
  return { reason, counted, ...(counted ? {} : { afterMs: pollMs }) };
}
