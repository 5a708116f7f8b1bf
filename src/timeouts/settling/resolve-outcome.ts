import { assertNever } from '../../errors';
import { backoffMs } from './retry-policy';
import { type TimeoutOutcome } from '../handlers/timeout-outcome';

/** What is written for a timeout, once budget and back-off are applied to what the handler said. */
export type ResolvedOutcome =
  | { readonly type: 'done' }
  | { readonly type: 'look-up' }
  | {
      readonly type: 'retry';
      readonly attempts: number;
      readonly reason: string;
      readonly afterMs: number;
      /** @internal */
      readonly unasked?: boolean;
    }
  | { readonly type: 'reschedule'; readonly dueAt: Date }
  | { readonly type: 'park'; readonly attempts: number; readonly reason: string };

interface Budget {
  /** Counted failures before this one. */
  readonly attempts: number;
  readonly maxAttempts: number;
  /** In [0, 1), for the jitter. */
  readonly random: number;
}

/** Pure: counts the attempt where it counts, and parks when the budget is used up. */
export function resolveOutcome(outcome: TimeoutOutcome, budget: Budget): ResolvedOutcome {
  switch (outcome.type) {
    case 'done':
    case 'look-up':
    case 'reschedule':
      return outcome;
    case 'park':
      return { type: 'park', attempts: budget.attempts, reason: outcome.reason };
    case 'retry':
      return resolveRetry(outcome, budget);
    default:
      return assertNever(outcome);
  }
}

function resolveRetry(outcome: Extract<TimeoutOutcome, { type: 'retry' }>, budget: Budget): ResolvedOutcome {
  const { reason } = outcome;
  const attempts = outcome.counted ? budget.attempts + 1 : budget.attempts;
  if (outcome.counted && attempts >= budget.maxAttempts) return { type: 'park', attempts, reason };
  const afterMs = outcome.afterMs ?? backoffMs(Math.max(attempts, 1), budget.random);
  return { type: 'retry', attempts, reason, afterMs: Math.max(afterMs, 0), ...(outcome.unasked && { unasked: true }) };
}
