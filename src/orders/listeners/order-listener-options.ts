import { findUnknownOptions, InvalidOptionsError, withoutUndefined } from '../../errors';
import { type TimeoutHandlerOptions } from '../../timeouts';
import { deliveryLimits } from './delivery-limits';

/** Options of `@OnOrder`. */
export interface OrderListenerOptions {
  /**
   * Stable name; what is undelivered belongs to it. Letters, digits, `.`, `_`, `-`; at most 80. @default 'Class.method'
   */
  readonly name?: string;
  /** Calls at once in this process. The sweep may add half as many. @default 10 */
  readonly concurrency?: number;
  /** How long one call may take, milliseconds. Then an attempt is counted. @default 15000 */
  readonly timeoutMs?: number;
  /** Failed calls before the delivery is parked. @default 5 */
  readonly maxAttempts?: number;
}

const DEFAULTS = { concurrency: 10, timeoutMs: 15_000, maxAttempts: 5 };

const RANGES: Record<keyof typeof DEFAULTS, readonly [number, number]> = {
  concurrency: [1, 10_000],
  timeoutMs: [1_000, 598_000],
  maxAttempts: [1, 1_000],
};

/** @throws InvalidOptionsError naming every value out of range. */
export function handlerOptionsOf(listener: string, options: OrderListenerOptions): TimeoutHandlerOptions {
  const { concurrency, timeoutMs, maxAttempts } = { ...DEFAULTS, ...withoutUndefined(options) };
  const given = { concurrency, timeoutMs, maxAttempts };
  const problems = findUnknownOptions(options, ['name', ...Object.keys(DEFAULTS)]);
  for (const name of Object.keys(RANGES) as (keyof typeof RANGES)[]) {
    const [min, max] = RANGES[name];
    const value = given[name];
    if (Number.isInteger(value) && value >= min && value <= max) continue;
    problems.push(`${name} must be an integer from ${min} to ${max} (got ${String(value)})`);
  }
  if (problems.length > 0) throw new InvalidOptionsError(`the order listener ${listener}`, problems);
  return deliveryLimits(given);
}
