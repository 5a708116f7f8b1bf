import { isContention, isDatabaseAway } from './database-away';
import { HandlerFailure, HandlerTimeoutError } from './timeout-errors';

/**
 * Why a batch was not settled.
 * - `away`: the database could not be asked; nobody's fault.
 * - `contention`: somebody held a row, or the database was slow; nobody's fault, and every part of the batch may wait as long.
 * - `hang`: the handler did not end; one of the batch is to blame, and each part that has it hangs as long.
 * - `item`: one of the batch is to blame.
 */
export type Blame = 'away' | 'contention' | 'hang' | 'item';

/** Pure. A lost connection is nobody's fault; one of the handler's own, to another server, is. */
export function blameFor(error: unknown): Blame {
  if (error instanceof HandlerFailure) return 'item';
  if (error instanceof HandlerTimeoutError) return error.isOfDatabase ? 'contention' : 'hang';
  if (isDatabaseAway(error)) return 'away';
  return isContention(error) ? 'contention' : 'item';
}
