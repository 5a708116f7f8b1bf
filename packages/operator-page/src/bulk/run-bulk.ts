import { type BulkResult } from '../api/attention-contract';

/** What all calls of a bulk action did together. */
export interface BulkTotal {
  readonly count: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly sample: BulkResult['sample'];
  /** False: it was stopped, or is still running. */
  readonly isComplete: boolean;
}

export const NOTHING_YET: BulkTotal = { count: 0, outcomes: {}, sample: [], isComplete: false };

const SAMPLE_SIZE = 20;

/**
 * Repeats a bulk call until all orders are handled.
 *
 * @param call one call, with the cursor of the previous one
 * @param onProgress after each call
 * @returns the total; not complete if `signal` stopped it between two calls
 */
export async function runBulk(
  call: (cursor: string | undefined) => Promise<BulkResult>,
  onProgress: (total: BulkTotal) => void,
  signal: AbortSignal,
): Promise<BulkTotal> {
  let total = NOTHING_YET;
  for (let cursor: string | undefined; !signal.aborted && !total.isComplete;) {
    const result = await call(cursor);
    total = add(total, result);
    cursor = result.next ?? undefined;
    onProgress(total);
  }
  return total;
}

/** Outcomes that were refused are codes in capital letters. */
export function isRefusal(outcome: string): boolean {
  return /^[A-Z0-9_]+$/.test(outcome);
}

/** How many orders changed, or would. */
export function changedOf({ outcomes }: Pick<BulkTotal, 'outcomes'>): number {
  return Object.entries(outcomes).reduce((sum, [outcome, count]) => sum + (isRefusal(outcome) ? 0 : count), 0);
}

function add(total: BulkTotal, result: BulkResult): BulkTotal {
  const outcomes: Record<string, number> = { ...total.outcomes };
  for (const [outcome, count] of Object.entries(result.outcomes)) outcomes[outcome] = (outcomes[outcome] ?? 0) + count;
  const sample = [...total.sample, ...result.sample].sort((a, b) => rank(a.outcome) - rank(b.outcome));
  return {
    count: total.count + result.count,
    outcomes,
    sample: sample.slice(0, SAMPLE_SIZE),
    isComplete: result.next === null,
  };
}

/** The refused ones first: they are what a person must look at. */
function rank(outcome: string): number {
  return isRefusal(outcome) ? 0 : 1;
}
