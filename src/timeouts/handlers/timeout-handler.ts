import { type EntityManager } from 'typeorm';
import { type DueTimeout } from '../timeout';
import { type TimeoutOutcome } from './timeout-outcome';

/**
 * Handles one timeout at a time, each in a transaction of the engine unless its options say `batchSize`: what it writes
 * through `tx`, the end of the timeout and the outbox rows commit together or not at all. No remote call in here.
 */
export interface TimeoutHandlerSingle {
  handle(timeout: DueTimeout, tx: EntityManager): Promise<TimeoutOutcome | void>;
}

/** How a batch came to be run. */
export interface SettlementRun {
  /**
   * A run of these timeouts has just waited too long for a lock. Return an uncounted `retry` for those whose rows are locked
   * (`FOR UPDATE SKIP LOCKED` leaves them out): a batch that waits again is run one by one.
   */
  readonly isContended: boolean;
}

/**
 * Handles a micro-batch in one transaction, with the rows locked; the fast way. Must return one outcome per
 * timeout, in order. If it throws, the batch is split until the offender stands alone.
 */
export interface TimeoutHandlerBatch<Answer = unknown> {
  handleBatch(
    timeouts: readonly DueTimeout<Answer>[],
    tx: EntityManager,
    run: SettlementRun,
  ): Promise<TimeoutOutcome[]>;
  /**
   * Finds out remote facts about one timeout, outside any transaction, many at a time. Must obey `signal` (the
   * lease ends with it). A rejection is a counted retry; unknown answers belong into `Answer`.
   */
  lookUp?(timeout: DueTimeout, signal: AbortSignal): Promise<Answer>;
}

export type TimeoutHandlerInstance = TimeoutHandlerSingle | TimeoutHandlerBatch;

/** Whether it takes whole batches. A class that has both methods does. */
export function isBatchHandler(handler: TimeoutHandlerInstance): handler is TimeoutHandlerBatch {
  return 'handleBatch' in handler && typeof handler.handleBatch === 'function';
}
