import { type EntityManager } from 'typeorm';
import { isFromDatabase } from '../../database';
import { HandlerContractError, HandlerFailure } from '../timeout-errors';
import { type DueTimeout } from '../timeout';
import { isBatchHandler, type SettlementRun, type TimeoutHandlerInstance } from './timeout-handler';
import { DONE, type TimeoutOutcome } from './timeout-outcome';

/** Lets the engine treat single and batch handlers alike, and holds them to their contract. */
export class HandlerAdapter {
  constructor(
    readonly kind: string,
    private readonly handler: TimeoutHandlerInstance,
  ) {}

  /** @throws HandlerContractError when outcomes and timeouts do not match. */
  async handleBatch(due: readonly DueTimeout[], tx: EntityManager, run: SettlementRun): Promise<TimeoutOutcome[]> {
    const outcomes = await this.run(due, tx, run);
    this.check(due, outcomes);
    return outcomes;
  }

  /** Calls the handler's `lookUp`. Only called after its outcome was `look-up`. */
  async lookUp(due: DueTimeout, signal: AbortSignal): Promise<unknown> {
    if (!isBatchHandler(this.handler) || !this.handler.lookUp)
      throw new HandlerContractError(this.kind, 'has no lookUp() method');
    return this.handler.lookUp(due, signal);
  }

  /** @throws HandlerFailure if the handler's own code failed. An error of the database is thrown unchanged. */
  private async run(due: readonly DueTimeout[], tx: EntityManager, run: SettlementRun): Promise<TimeoutOutcome[]> {
    try {
      return isBatchHandler(this.handler) ? await this.handler.handleBatch(due, tx, run) : await this.oneByOne(due, tx);
    } catch (error) {
      throw isFromDatabase(error) ? error : new HandlerFailure(error);
    }
  }

  private async oneByOne(due: readonly DueTimeout[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    const outcomes: TimeoutOutcome[] = [];
    if (isBatchHandler(this.handler)) return outcomes;
    for (const timeout of due) outcomes.push((await this.handler.handle(timeout, tx)) ?? DONE);
    return outcomes;
  }

  private check(due: readonly DueTimeout[], outcomes: readonly TimeoutOutcome[]): void {
    if (outcomes.length !== due.length) {
      throw new HandlerContractError(this.kind, `returned ${outcomes.length} outcomes for ${due.length} timeouts`);
    }
    const asksAgain = outcomes.some((outcome, index) => outcome.type === 'look-up' && isAnswered(due[index]));
    if (asksAgain) throw new HandlerContractError(this.kind, 'asked again although it has the answer; return retry');
    const canAsk = isBatchHandler(this.handler) && this.handler.lookUp !== undefined;
    if (!canAsk && outcomes.some((outcome) => outcome.type === 'look-up')) {
      throw new HandlerContractError(this.kind, 'returned "look-up" but has no lookUp() method');
    }
  }
}

/** Whether the timeout carries an answer, which may be undefined. */
function isAnswered(due: DueTimeout | undefined): boolean {
  return due !== undefined && 'answer' in due;
}
