import { assertNever } from '../../errors';
import { type RefundOutcome } from '../../payments';
import { type TimeoutOutcome } from '../../timeouts';

/** What a provider's answer to a refund leads to: the end, or another call with the same number. */
export type RefundDecision =
  { readonly type: 'refunded'; readonly refundId: string } | Extract<TimeoutOutcome, { type: 'retry' }>;

/** What was learned; `NO_PROVIDER`: this process cannot ask. */
export type RefundAnswer = RefundOutcome | { readonly type: 'NO_PROVIDER'; readonly reason: string };

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const MAX_DEFER_MS = 24 * HOUR;

/**
 * Pure. `waitedMs`: how long the refund has been under way. Money never expires, and is parked with an alert when there
 * was no clear answer for a day: some causes, such as a merchant that is not configured any more, need a person.
 */
export function decideRefund(answer: RefundAnswer, waitedMs: number): RefundDecision {
  switch (answer.type) {
    case 'REFUNDED':
      return { type: 'refunded', refundId: answer.refundId };
    case 'PENDING':
      return retry('the provider is working on the refund', pendingMs(waitedMs));
    case 'UNKNOWN':
      if (waitedMs > MAX_DEFER_MS) return { type: 'retry', counted: true, reason: answer.reason };
      return retry(answer.reason, Math.max(unknownMs(waitedMs), Math.min(answer.retryAfterMs ?? 0, MINUTE)));
    // Both need a person: counted, so that the refund is parked with the reason and an alert.
    case 'REJECTED':
      return { type: 'retry', counted: true, reason: `the provider rejects the refund: ${answer.reason}` };
    case 'NO_PROVIDER':
      return { type: 'retry', counted: true, reason: answer.reason };
    default:
      return assertNever(answer);
  }
}

/** Cards take seconds, bank accounts days. */
function pendingMs(waitedMs: number): number {
  if (waitedMs < MINUTE) return 5 * SECOND;
  return waitedMs < HOUR ? MINUTE : 10 * MINUTE;
}

/** A provider that is back must be noticed within seconds, one that stays away must not be hammered. */
function unknownMs(waitedMs: number): number {
  if (waitedMs < 5 * MINUTE) return 5 * SECOND;
  return waitedMs < HOUR ? 15 * SECOND : MINUTE;
}

function retry(reason: string, afterMs: number): RefundDecision {
  return { type: 'retry', counted: false, reason, afterMs };
}
