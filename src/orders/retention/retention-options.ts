import { InvalidOptionsError, withoutUndefined } from '../../errors';

/** How long finished data is kept, in milliseconds from its last change. 0 keeps it forever. */
export interface RetentionOptions {
  /**
   * Orders in CLOSED, CANCELLED, PAID, or CLOSED_REFUNDED without open items, with lines, attempts, refunds,
   * reservations, and history. 0, or at least one day. Money that arrives later belongs to an unknown order. @default 0
   */
  readonly finishedOrdersMs?: number;
  /**
   * Idempotency keys. After this time, a key may be used for another order. 0, or at least one day.
   * @default 2592000000 (30 days)
   */
  readonly idempotencyKeysMs?: number;
  /**
   * Unmatched money (`unmatched_payment`) that needs no more action. Open items are never purged. 0, or at least one day.
   * @default 0
   */
  readonly settledMoneyMs?: number;
  /** From the end of one walk through the tables to the start of the next. @default 3600000 (1 hour) */
  readonly intervalMs?: number;
}

export type ResolvedRetentionOptions = Required<RetentionOptions>;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A hundred years, because PostgreSQL must be able to subtract it from the current time. */
const MAX_MS = 36_500 * DAY_MS;

/** @throws InvalidOptionsError that names every invalid option. */
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
