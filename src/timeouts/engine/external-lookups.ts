import { type EntityManager } from 'typeorm';
import { type Clock, inTime } from '../../clock';
import { isFromDatabase } from '../../database';
import { inSpan } from '../../tracing';
import { type HandlerAdapter } from '../handlers/handler-adapter';
import { HandlerFailure } from '../model/errors';
import {
  type DueTimeout,
  type TimeoutCause,
  type WakeUpResult,
  type TimeoutObserver,
  BUSY_MS,
  type BatchSelection,
  type LockedRows,
  type BusyRow,
  type LockedRow,
} from '../model/timeout';
import { type BatchWork, failureOf, IsolatedBatches, GATHER, MicroBatcher } from './batches';
import { type DatabaseClock } from './received-wake-ups';
import { type SettlementQueries, type TimeoutSettler } from './timeout-settler';

interface LookUpDependencies extends AnswerDependencies {
  readonly handler: HandlerAdapter;
  readonly leaseMs: number;
}

/** The answer must be written while the lease still holds, so the look-up ends this long before it. */
const LEASE_MARGIN_MS = 2_000;

/** What a handler has found in time is worth having, so it may still return it after its signal has aborted. */
const RETURN_MS = 500;

/** Runs the look-ups of handlers outside any transaction, and has their answers settled. */
export class ExternalLookups {
  /** A look-up is open until its answer is written. */
  readonly open = new Set<DueTimeout>();
  private readonly answers: AnswerSettlement;
  /** One for each open look-up. Not AbortSignal.any(): Node 20 keeps about 60 bytes of every combined signal forever. */
  private readonly limits = new Set<AbortController>();
  private readonly stopping = new AbortController();
  private drained: (() => void)[] = [];
  private onRoom = (): void => undefined;

  constructor(
    private readonly deps: LookUpDependencies,
    private readonly clock: Clock,
  ) {
    this.answers = new AnswerSettlement(deps, clock);
  }

  whenRoom(listener: () => void): void {
    this.onRoom = listener;
  }

  /** Whether the answer to a look-up of this key is awaited, or is being written. */
  isLookingUp(key: string): boolean {
    return [...this.open].some((due) => due.key === key);
  }

  /** Looks one timeout up; `done` is called when the answer is committed, or could not be. Never rejects. */
  async lookUp(due: DueTimeout, lease: string, done: (result: WakeUpResult) => void): Promise<void> {
    this.open.add(due);
    const finish = (result: WakeUpResult): void => {
      this.close(due);
      done(result);
    };
    const leased = { due, lease, endsAtMs: this.clock.monotonic() + this.deps.leaseMs, finish };
    try {
      const answer = await this.lookUpWithin(due, this.deps.leaseMs - LEASE_MARGIN_MS);
      this.answers.add({ ...leased, answer });
    } catch (error) {
      await this.answers.recordFailure(leased, await this.blamed(error));
    }
  }

  /** While the database answers, an error such as ECONNREFUSED is about a server of the handler's own, and counts. */
  private async blamed(error: unknown): Promise<unknown> {
    if (this.stopping.signal.aborted || isFromDatabase(error)) return error;
    return (await this.deps.settler.isDatabaseAvailable()) ? new HandlerFailure(error) : error;
  }

  /** Cancels the open look-ups: the answers of their providers are not waited for any longer. */
  abort(): void {
    this.stopping.abort();
    this.answers.stop();
    for (const limit of this.limits) limit.abort();
  }

  whenIdle(): Promise<void> {
    return this.open.size === 0 ? Promise.resolve() : new Promise((resolve) => this.drained.push(resolve));
  }

  /** A handler that does not obey the signal must not keep its place forever. */
  private async lookUpWithin(due: DueTimeout, ms: number): Promise<unknown> {
    const limit = new AbortController();
    this.limits.add(limit);
    if (this.stopping.signal.aborted) limit.abort();
    const timer = this.clock.after(ms, () => limit.abort());
    const late = (): Error => new Error(`lookUp() did not end within ${ms} ms`);
    try {
      const attributes = { 'order_timeout.kind': due.kind, 'order_timeout.key': due.key };
      const looking = inSpan(`look up ${due.kind}`, { attributes, causes: [due.traceparent] }, () =>
        this.deps.handler.lookUp(due, limit.signal),
      );
      return await inTime(this.clock, ms + RETURN_MS, looking, late, this.stopping.signal);
    } catch (error) {
      // What it throws then, such as the error of a socket, may look like the database's fault, and would not count.
      throw limit.signal.aborted ? late() : error;
    } finally {
      timer.cancel();
      this.limits.delete(limit);
    }
  }

  private close(due: DueTimeout): void {
    this.open.delete(due);
    this.onRoom();
    if (this.open.size === 0) for (const resolve of this.drained.splice(0)) resolve();
  }
}

/** An answer to settle, or the look-up that failed. */
interface LeasedAnswer {
  readonly due: DueTimeout;
  /** Token of the lease that the look-up runs under. */
  readonly lease: string;
  readonly answer: unknown;
  /** When the lease ends, by the monotonic clock. */
  readonly endsAtMs: number;
  finish(result: WakeUpResult): void;
}

interface AnswerDependencies {
  readonly kind: string;
  readonly settler: TimeoutSettler;
  readonly queries: SettlementQueries;
  readonly databaseClock: DatabaseClock;
  readonly observer: Pick<TimeoutObserver, 'unavailable'>;
  readonly batchSize: number;
  readonly concurrency: number;
}

/** Pause after an answer that could not be written. While the lease holds, nobody else may look the timeout up. */
const REWRITE_MS = 500;

/** Settles the timeouts whose look-ups were answered, in micro-batches as the answers come in. */
class AnswerSettlement implements BatchWork<LeasedAnswer> {
  private readonly batcher: MicroBatcher<LeasedAnswer>;
  private isStopping = false;

  constructor(
    private readonly deps: AnswerDependencies,
    private readonly clock: Clock,
  ) {
    const { settler: database, batchSize: size, concurrency } = deps;
    const batches = new IsolatedBatches({ work: this, database, concurrency }, clock);
    const run = (items: readonly LeasedAnswer[]): Promise<void> => batches.run(items);
    this.batcher = new MicroBatcher(clock, { size, ...GATHER, concurrency, run });
  }

  add(item: LeasedAnswer): void {
    this.batcher.add([item]);
  }

  /** From now on nothing is tried a second time. */
  stop(): void {
    this.isStopping = true;
  }

  async settleBatch(items: readonly LeasedAnswer[]): Promise<void> {
    const { early } = await this.deps.settler.settle(new AnswerSelection(items, this.deps));
    const busy = new Set(early.map(({ key }) => key));
    for (const item of items) {
      if (!busy.has(item.due.key)) item.finish('finished');
      else if (this.isStopping) item.finish('unwritten');
      else this.clock.after(BUSY_MS, () => this.add(item));
    }
  }

  /** Records that a look-up failed, or that its answer could not be settled. Never rejects. */
  async recordFailure(item: Omit<LeasedAnswer, 'answer'>, error: unknown): Promise<void> {
    const { settler, databaseClock, observer, kind } = this.deps;
    const { due, lease, finish } = item;
    // Canceled because this process stops: no attempt is counted, and the timeout is due again when the lease ends.
    while (!this.isStopping) {
      try {
        await settler.fail(due, due.cause, { ...failureOf(error, databaseClock.nowMs()), lease });
        return finish('finished');
      } catch (fault) {
        observer.unavailable(kind, fault);
        if (!this.mayWrite(item)) break;
        await this.clock.sleep(REWRITE_MS);
      }
    }
    finish('unwritten');
  }

  postpone(item: LeasedAnswer, error: unknown): Promise<void> {
    return this.recordFailure(item, error);
  }

  /** Keeps the answers until the database is available again, or their leases end. */
  onUnavailable(items: readonly LeasedAnswer[], error: unknown): void {
    this.deps.observer.unavailable(this.deps.kind, error);
    for (const item of items) {
      if (this.mayWrite(item)) this.clock.after(REWRITE_MS, () => this.add(item));
      else item.finish('unwritten');
    }
  }

  private mayWrite({ endsAtMs }: Pick<LeasedAnswer, 'endsAtMs'>): boolean {
    return !this.isStopping && this.clock.monotonic() + REWRITE_MS < endsAtMs;
  }
}

/** The rows of answered look-ups. A row whose lease was lost is not among them: its new owner decides. */
class AnswerSelection implements BatchSelection {
  readonly answers: ReadonlyMap<string, unknown>;
  private readonly causes: ReadonlyMap<string, TimeoutCause>;

  constructor(
    private readonly items: readonly LeasedAnswer[],
    private readonly deps: { readonly kind: string; readonly queries: SettlementQueries },
  ) {
    this.answers = new Map(items.map(({ due, answer }) => [due.key, answer]));
    this.causes = new Map(items.map(({ due }) => [due.key, due.cause]));
  }

  causeOf({ key }: LockedRow): TimeoutCause {
    return this.causes.get(key) ?? 'message';
  }

  async lock(tx: EntityManager): Promise<LockedRows> {
    const rows = await tx.query<BusyRow[]>(this.deps.queries.lockLeased, [
      this.deps.kind,
      this.items.map(({ due }) => due.key),
      this.items.map(({ due }) => due.generation),
      this.items.map(({ lease }) => lease),
    ]);
    return { due: rows.filter((row) => !row.busy), early: rows.filter((row) => row.busy) };
  }
}
