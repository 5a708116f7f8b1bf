import { isContention, isDatabaseUnavailable } from '../../database';
import { HandlerFailure, HandlerTimeoutError } from '../timeout-errors';

/**
 * Why a batch was not settled.
 * - `unavailable`: the database did not answer; no item is to blame.
 * - `contention`: a row was locked, or the database was slow; no item is to blame, and each part of the batch may wait as long.
 * - `hang`: the handler did not end; one item is to blame, and each part that contains it hangs as long.
 * - `item`: one item of the batch is to blame.
 */
export type Blame = 'unavailable' | 'contention' | 'hang' | 'item';

/** Pure. A lost connection to the database blames no item; a handler's lost connection to another server does. */
export function blameFor(error: unknown): Blame {
  if (error instanceof HandlerFailure) return 'item';
  if (error instanceof HandlerTimeoutError) return error.isOfDatabase ? 'contention' : 'hang';
  if (isDatabaseUnavailable(error)) return 'unavailable';
  return isContention(error) ? 'contention' : 'item';
}
