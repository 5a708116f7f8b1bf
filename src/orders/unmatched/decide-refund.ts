import { assertNever } from '../../errors';
import { type RefundOutcome } from '../../payments';
import { type TimeoutOutcome } from '../../timeouts';
import { MAX_DEFER_MS } from '../lookup/wait-for-finding';

/** The result of a provider's answer to a refund: done, or another call with the same number. */
export type RefundDecision =
  { readonly type: 'refunded'; readonly refundId: string } | Extract<TimeoutOutcome, { type: 'retry' }>;

/** The result of asking again for a refund that the provider had confirmed. */
export type CheckDecision =
  | { readonly type: 'stands' }
  | { readonly type: 'failed'; readonly reason: string }
  | Extract<TimeoutOutcome, { type: 'retry' }>;

/** The answer; `NO_PROVIDER`: this process cannot call the provider. */
export type RefundAnswer = RefundOutcome | { readonly type: 'NO_PROVIDER'; readonly reason: string };

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Longer than the lag of a provider's read replica. After this time, its answer is trusted. */
const DOUBT_MS = MINUTE;

/**
 * Pure: decides how a refund continues. `waitedMs`: since it was first requested. A refund never expires. It is parked with
 * an alert after a day without a clear answer, because some causes, such as a merchant that is no longer configured,
 * need a person.
 */
export function decideRefund(answer: RefundAnswer, waitedMs: number): RefundDecision {
  switch (answer.type) {
    case 'REFUNDED':
      return { type: 'refunded', refundId: answer.refundId };
    case 'PENDING':
      return retry('the provider is working on the refund', pendingMs(waitedMs));
    case 'UNKNOWN':
      return waitForAnswer(answer, waitedMs);
    // Both need a person, so they count: the refund is parked with the reason and an alert.
    case 'REJECTED':
      return { type: 'retry', counted: true, reason: `the provider rejects the refund: ${answer.reason}` };
    case 'NO_PROVIDER':
      return { type: 'retry', counted: true, reason: answer.reason };
    default:
      return assertNever(answer);
  }
}

/**
 * Pure: decides about a refund that was done when the provider reported a change. `waitedMs`: since the first question. Banks return some
 * refunds after days, for example to a card that no longer exists.
 */
export function decideCheck(answer: RefundAnswer, waitedMs: number): CheckDecision {
  if (answer.type === 'REJECTED') return { type: 'failed', reason: answer.reason };
  const decision = decideRefund(answer, waitedMs);
  if (decision.type === 'retry') return decision;
  return waitedMs < DOUBT_MS ? retry('the provider still confirms the refund', DOUBT_MS) : { type: 'stands' };
}

function waitForAnswer(
  { reason, retryAfterMs = 0, paused }: Extract<RefundAnswer, { type: 'UNKNOWN' }>,
  waitedMs: number,
): Extract<RefundDecision, { type: 'retry' }> {
  const wait = retry(reason, Math.max(unknownMs(waitedMs), Math.min(retryAfterMs, MINUTE)));
  if (paused) return { ...wait, unasked: true };
  return waitedMs > MAX_DEFER_MS ? { type: 'retry', counted: true, reason } : wait;
}

/** Cards take seconds, bank accounts take days. */
function pendingMs(waitedMs: number): number {
  if (waitedMs < MINUTE) return 5 * SECOND;
  return waitedMs < HOUR ? MINUTE : 10 * MINUTE;
}

/**
 * The recovery of a provider must be noticed within seconds, but a provider that stays unavailable must not be flooded.
 */
function unknownMs(waitedMs: number): number {
  if (waitedMs < 5 * MINUTE) return 5 * SECOND;
  return waitedMs < HOUR ? 15 * SECOND : MINUTE;
}

function retry(reason: string, afterMs: number): Extract<RefundDecision, { type: 'retry' }> {
  return { type: 'retry', counted: false, reason, afterMs };
}
