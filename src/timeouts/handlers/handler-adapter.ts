import { Logger } from '@nestjs/common';
import { type EntityManager, type QueryRunner } from 'typeorm';
import {
  isFromDatabase,
  isSchemaUnusable,
  isTriggerBroken,
  cancel,
  hangUp,
  interceptQueries,
  type PooledClient,
  type Send,
} from '../../database';
import { type Clock, withTimeout } from '../../clock';
import { FailureLog, messageOf } from '../../errors';
import { HandlerContractError, HandlerFailure, HandlerTimeoutError } from '../model/errors';
import {
  type DueTimeout,
  isBatchHandler,
  type SettlementRun,
  type TimeoutHandlerInstance,
  DONE,
  type TimeoutOutcome,
} from '../model/timeout';

/** Lets the engine treat single and batch handlers alike, and holds them to their contract. */
export class HandlerAdapter {
  private readonly refusals: RefusalLog;

  /** @param now monotonic, milliseconds */
  constructor(
    readonly kind: string,
    private readonly handler: TimeoutHandlerInstance,
    now: () => number,
  ) {
    this.refusals = new RefusalLog(kind, now);
  }

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
      const { handler } = this;
      const outcomes = isBatchHandler(handler) ? await handler.handleBatch(due, tx, run) : await this.oneByOne(due, tx);
      this.refusals.worked(due);
      return outcomes;
    } catch (error) {
      if (isSchemaUnusable(error) || isTriggerBroken(error)) this.refusals.failed(due, error);
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

/** A timeout whose table is refused is tried again sooner. */
const RETRIED_MS = 5_000;

/** Says once that the database refuses what a handler needs, and once that it does so no more. */
class RefusalLog {
  private readonly log: FailureLog;
  /** When it failed last, as long as it has not worked since. */
  private failedAt: number | undefined;
  private key: string | undefined;

  constructor(
    kind: string,
    private readonly now: () => number,
  ) {
    this.log = new FailureLog(new Logger(`Timeouts:${kind}`), now);
  }

  failed([first, ...others]: readonly DueTimeout[], error: unknown): void {
    this.failedAt = this.now();
    // Of several, it is not known which one needs the table.
    if (others.length === 0) this.key = first?.key;
    this.log.failed(`begins to fail: ${messageOf(error)}`);
  }

  /** Others may not need the table, so they say nothing while one is still tried again. */
  worked(due: readonly DueTimeout[]): void {
    if (this.failedAt === undefined) return;
    if (!due.some(({ key }) => key === this.key) && this.now() - this.failedAt <= RETRIED_MS) return;
    this.failedAt = undefined;
    this.log.worked('works again');
  }
}

/** Whether the timeout carries an answer, which may be undefined. */
function isAnswered(due: DueTimeout | undefined): boolean {
  return due !== undefined && 'answer' in due;
}

interface RunLimit {
  readonly kind: string;
  readonly keys: readonly string[];
  readonly ms: number;
}

/** Time for a statement under way to end. One that takes longer is canceled on the server: it would go on and keep its locks. */
const STATEMENT_MS = 10_000;

/**
 * Runs `work`, which writes through `tx`, for at most `ms`. Then the connection of `tx` is cut: the server rolls back, the
 * pool drops it, and what the abandoned work still writes fails instead of reaching somebody else's transaction.
 *
 * @throws HandlerTimeoutError
 */
export async function withinRunLimit<T>(
  clock: Clock,
  tx: EntityManager,
  { kind, keys, ms }: RunLimit,
  work: () => Promise<T>,
): Promise<T> {
  const statements = await RunStatements.of(tx);
  let isOver = false;
  let isLate = false;
  let timer = { cancel: (): void => undefined };
  const limit = new Promise<never>((_resolve, reject) => {
    timer = clock.after(ms, () => {
      isLate = true;
      const error = new HandlerTimeoutError(kind, keys, { limitMs: ms, statementsMs: statements.spentMs });
      statements.refuse(error);
      void withTimeout(clock, STATEMENT_MS, statements.whenIdle(), undefined).then(() => {
        if (isOver) return;
        // Before the cut, or a statement under way would report a lost connection.
        reject(error);
        statements.cut(error);
      });
    });
  });
  const run = async (): Promise<T> => {
    try {
      const result = await work();
      // It has tolerated the refusal of a statement. To commit would be to lose that effect.
      return statements.wasRefused ? await limit : result;
    } catch (error) {
      // Errors after the limit are a consequence, not the cause.
      if (isLate) return limit;
      throw error;
    }
  };
  try {
    return await Promise.race([run(), limit]);
  } finally {
    isOver = true;
    timer.cancel();
    statements.release();
  }
}

/** Of pg's client, what ends it at once; `end` would wait for what is under way. */
type Client = PooledClient & { on(event: 'error', listener: () => void): unknown };

/** The statements that a handler sends through the transaction it is given. */
class RunStatements {
  /** Looks at no more statements. */
  readonly release: () => void;
  private refusal: Error | undefined;
  private refused = false;
  private open = 0;
  private since = 0;
  private passedMs = 0;
  private idle: (() => void)[] = [];

  private constructor(
    runner: QueryRunner,
    private readonly client: Client,
  ) {
    this.release = interceptQueries(
      runner,
      (send) =>
        (...given) =>
          this.query(send, given),
    );
  }

  static async of({ queryRunner }: EntityManager): Promise<RunStatements> {
    if (!queryRunner) throw new Error('a transaction of TypeORM has a query runner; this manager has none');
    // Its own client, at hand since the transaction began.
    return new RunStatements(queryRunner, (await queryRunner.connect()) as Client);
  }

  /** How long the handler has waited for the database, milliseconds; that is not its fault. */
  get spentMs(): number {
    return this.passedMs + (this.open > 0 ? performance.now() - this.since : 0);
  }

  get wasRefused(): boolean {
    return this.refused;
  }

  /** Resolves when no statement is under way. */
  whenIdle(): Promise<void> {
    return this.open === 0 ? Promise.resolve() : new Promise((resolve) => this.idle.push(resolve));
  }

  /** Fails every statement from here on, unsent. */
  refuse(error: Error): void {
    this.refusal = error;
  }

  cut(error: Error): void {
    // pg reports the cut by an event, which ends the process without a listener.
    this.client.on('error', () => undefined);
    if (this.open > 0) cancel(this.client);
    hangUp(this.client, error);
  }

  private async query(send: Send, given: unknown[]): Promise<unknown> {
    if (this.refusal) {
      this.refused = true;
      throw this.refusal;
    }
    if (this.open++ === 0) this.since = performance.now();
    try {
      return await send(...given);
    } finally {
      this.open--;
      if (this.open === 0) {
        this.passedMs += performance.now() - this.since;
        for (const resolve of this.idle.splice(0)) resolve();
      }
    }
  }
}
