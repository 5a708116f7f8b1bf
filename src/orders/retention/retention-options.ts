import { InvalidOptionsError, withoutUndefined } from '../../errors';

/** How long what is finished is kept, in milliseconds from its last change. 0 keeps it for ever. */
export interface RetentionOptions {
  /**
   * Orders in CLOSED, CANCELLED, PAID or CLOSED_REFUNDED about which nothing is open, with lines, attempts, refunds,
   * reservations and history. 0, or a day and more. Money that arrives later belongs to an unknown order. @default 0
   */
  readonly finishedOrdersMs?: number;
  /** Idempotency keys: after this time a key may be used for another order. 0, or a day and more. @default 2592000000 (30 days) */
  readonly idempotencyKeysMs?: number;
  /** Unmatched money (`orphan_payment`) that needs nothing more. What is open is never purged. 0, or a day and more. @default 0 */
  readonly settledMoneyMs?: number;
  /** From the end of one walk through the tables to the next. @default 3600000 (an hour) */
  readonly intervalMs?: number;
}

export type ResolvedRetentionOptions = Required<RetentionOptions>;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A hundred years: PostgreSQL must be able to subtract it from today. */
const MAX_MS = 36_500 * DAY_MS;

/** @throws InvalidOptionsError naming every bad option. */
export function resolveRetention(options: RetentionOptions = {}): ResolvedRetentionOptions {
  const defaults = { finishedOrdersMs: 0, idempotencyKeysMs: 30 * DAY_MS, settledMoneyMs: 0, intervalMs: HOUR_MS };
  const resolved = { ...defaults, ...withoutUndefined(options) };
  const problems = problemsOf(resolved);
  if (problems.length > 0) throw new InvalidOptionsError('retention', problems);
  return Object.freeze(resolved);
}

function problemsOf({ intervalMs, ...times }: ResolvedRetentionOptions): string[] {
  const isWithin = (ms: number, min: number, max: number): boolean => Number.isInteger(ms) && ms >= min && ms <= max;
  const bad = Object.entries(times).filter(([, ms]) => ms !== 0 && !isWithin(ms, DAY_MS, MAX_MS));
  return [
    ...bad.map(([name, ms]) => `${name} must be 0, or an integer from ${DAY_MS} to ${MAX_MS} ms (got ${String(ms)})`),
    ...(isWithin(intervalMs, 1_000, DAY_MS)
      ? []
      : [`intervalMs must be an integer from 1000 to ${DAY_MS} ms (got ${String(intervalMs)})`]),
  ];
}
