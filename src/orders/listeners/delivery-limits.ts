import { type TimeoutHandlerOptions } from '../../timeouts';

interface DeliveryLimits {
  /** Calls at once. */
  readonly concurrency: number;
  /** How long one may take, milliseconds. */
  readonly timeoutMs: number;
  readonly maxAttempts: number;
}

/** The engine ends a look-up this long before its lease. */
const LEASE_MARGIN_MS = 2_000;

/**
 * Options of a handler that delivers by look-ups. A batch begins when there is room for all of its look-ups, so that no more
 * run at once than wanted, except for a page of the sweep.
 */
export function deliveryLimits({ concurrency, timeoutMs, maxAttempts }: DeliveryLimits): TimeoutHandlerOptions {
  const batchSize = Math.min(Math.ceil(concurrency / 2), 200);
  return {
    batchSize,
    concurrency: 1,
    lookUpConcurrency: concurrency - batchSize + 1,
    leaseMs: timeoutMs + LEASE_MARGIN_MS,
    maxAttempts,
  };
}
