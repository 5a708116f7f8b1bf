import { isContention, isDatabaseUnavailable, isSchemaUnusable } from '../../database';
import { HandlerFailure, HandlerTimeoutError } from '../timeout-errors';

/**
 * Why a batch was not settled.
 * - `unavailable`: the database did not answer; no item is to blame.
 * - `contention`: a row was locked, the database was slow, or one of our tables cannot be used; no item is to blame, and each
 *   part of the batch may wait as long. Items that do not need that row or table go on.
 * - `hang`: the handler did not end; one item is to blame, and each part that contains it hangs as long.
 * - `item`: one item of the batch is to blame.
 */
export type Blame = 'unavailable' | 'contention' | 'hang' | 'item';

/** Pure. A lost connection to the database blames no item; a handler's lost connection to another server does. */
export function blameFor(error: unknown): Blame {
  if (error instanceof HandlerFailure) return 'item';
  if (error instanceof HandlerTimeoutError) return error.isOfDatabase ? 'contention' : 'hang';
  if (isSchemaUnusable(error) || isContention(error)) return 'contention';
  return isDatabaseUnavailable(error) ? 'unavailable' : 'item';
}
