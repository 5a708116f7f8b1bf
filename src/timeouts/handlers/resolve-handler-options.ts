import { InvalidOptionsError, withoutUndefined } from '../../errors';
import { type TimeoutHandlerOptions } from './timeout-handler.decorator';

export type ResolvedHandlerOptions = Required<TimeoutHandlerOptions>;

const DEFAULTS: Omit<ResolvedHandlerOptions, 'idleTimeoutMs' | 'statementTimeoutMs'> = {
  prefetch: 1_000,
  batchSize: 200,
  concurrency: 2,
  lookUpConcurrency: 200,
  maxAttempts: 5,
  leaseMs: 20_000,
  runTimeoutMs: 30_000,
};

/**
 * A handler of single timeouts gets a transaction for each. Together in one they would keep each other's row locks until
 * its end, and two such transactions that touch shared rows in different orders end in a deadlock, a second each time.
 */
const SINGLE_DEFAULTS = { batchSize: 1, concurrency: 5 } as const;

/** The server must not end a session whose handler is still within its time. */
const IDLE_MARGIN_MS = 1_000;

/** Smallest sensible values; the largest is what a 16-bit prefetch or a readable transaction bears. */
const RANGES: Record<keyof ResolvedHandlerOptions, readonly [number, number]> = {
  prefetch: [1, 65_535],
  batchSize: [1, 5_000],
  concurrency: [1, 64],
  lookUpConcurrency: [1, 10_000],
  maxAttempts: [1, 1_000],
  leaseMs: [3_000, 600_000],
  runTimeoutMs: [100, 600_000],
  idleTimeoutMs: [100, 660_000],
  statementTimeoutMs: [100, 600_000],
};

/** @throws InvalidOptionsError naming every value out of range. */
export function resolveHandlerOptions(
  kind: string,
  options: TimeoutHandlerOptions,
  takes: 'batches' | 'single timeouts',
): ResolvedHandlerOptions {
  const defaults = takes === 'batches' ? DEFAULTS : { ...DEFAULTS, ...SINGLE_DEFAULTS };
  const given = { ...defaults, ...withoutUndefined(options) };
  const { runTimeoutMs } = given;
  const resolved = { idleTimeoutMs: runTimeoutMs + IDLE_MARGIN_MS, statementTimeoutMs: runTimeoutMs, ...given };
  const problems = (Object.keys(RANGES) as (keyof ResolvedHandlerOptions)[]).flatMap((name) => {
    const [min, max] = RANGES[name];
    const value = resolved[name];
    const isGood = Number.isInteger(value) && value >= min && value <= max;
    return isGood ? [] : [`${name} must be an integer from ${min} to ${max} (got ${String(value)})`];
  });
  if (problems.length > 0) throw new InvalidOptionsError(`@TimeoutHandler('${kind}')`, problems);
  return Object.freeze(resolved);
}
