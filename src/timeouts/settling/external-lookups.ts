import { type EntityManager } from 'typeorm';
import { type Clock } from '../../clock';
import { type DatabaseClock } from './database-clock';
import { failureOf } from './failure-of';
import { type HandlerAdapter } from '../handlers/handler-adapter';
import { IsolatedBatches } from './isolated-batches';
import { BUSY_MS, type BusyRow } from './locked-timeout';
import { GATHER, MicroBatcher } from './micro-batcher';
import { rejectedBy } from './rejected-by';
import { type SettlementQueries } from './settlement-queries';
import { type DueTimeout } from '../timeout';
import { type Selection, type SettledBatch, type TimeoutSettler } from './timeout-settler';
import { type WakeUpResult } from '../wake-ups/work-item';

interface AskDependencies {
  readonly kind: string;
  readonly handler: HandlerAdapter;
  readonly settler: TimeoutSettler;
  readonly queries: SettlementQueries;
  readonly databaseClock: DatabaseClock;
  readonly leaseMs: number;
  readonly batchSize: number;
  readonly concurrency: number;
  committed(batch: SettledBatch): void;
  away(error: unknown): void;
  /** A question was closed: there may be room for another. */
  closed(): void;
}

interface Answered {
  readonly due: DueTimeout;
  readonly lease: string;
  /** When the lease ends, by the monotonic clock. */
  readonly endsAtMs: number;
  readonly answer: unknown;
  done(result: WakeUpResult): void;
}

/** The answer must be written while the lease still holds, so the question ends this long before it. */
const LEASE_MARGIN_MS = 2_000;
/** Pause after an answer that could not be written. While the lease holds, nobody else may ask. */
const REWRITE_MS = 500;

/** Asks handlers' remote questions outside any transaction and settles the answers in micro-batches, as they come in. */
export class ExternalLookups {
  private readonly answered: MicroBatcher<Answered>;
  private readonly batches: IsolatedBatches<Answered>;
  /** One for each open question. Not AbortSignal.any(): Node 20 keeps about 60 bytes of every combined signal for ever. */
  private readonly limits = new Set<AbortController>();
  private isStopping = false;
  private readonly open = new Set<DueTimeout>();
  private drained: (() => void)[] = [];

  constructor(
    private readonly deps: AskDependencies,
    private readonly clock: Clock,
  ) {
    const put = async (item: Answered, error: unknown): Promise<void> => item.done(await this.fail(item, error));
    this.batches = new IsolatedBatches(
      {
        concurrency: deps.concurrency,
        settle: (part) => this.settleTogether(part),
        isDatabaseThere: () => deps.settler.isDatabaseThere(),
        failed: put,
        held: put,
        away: (part, error) => this.giveBack(part, error),
      },
      clock,
    );
    this.answered = new MicroBatcher(clock, {
      size: deps.batchSize,
      ...GATHER,
      concurrency: deps.concurrency,
      run: (items) => this.batches.settle(items),
    });
  }

  /** Questions asked whose answers are not written yet. */
  get openCount(): number {
    return this.open.size;
  }

  /** Whether the answer to a question about this key is awaited, or is being written. */
  isLookingUp(key: string): boolean {
    return [...this.open].some((due) => due.key === key);
  }

  /** Asks one question; `done` is called when its answer is committed, or could not be. Never rejects. */
  async lookUp(due: DueTimeout, lease: string, done: (result: WakeUpResult) => void): Promise<void> {
    this.open.add(due);
    const finish = (result: WakeUpResult): void => {
      this.close(due);
      done(result);
    };
    const endsAtMs = this.clock.monotonic() + this.deps.leaseMs;
    try {
      const answer = await this.lookUpWithin(due, this.deps.leaseMs - LEASE_MARGIN_MS);
      this.answered.add([{ due, lease, endsAtMs, answer, done: finish }]);
    } catch (error) {
      await this.fail({ due, lease, endsAtMs }, error).then(finish);
    }
  }

  /** Cuts the open questions short: their providers' answers are not waited for any longer. */
  abort(): void {
    this.isStopping = true;
    for (const limit of this.limits) limit.abort();
  }

  whenIdle(): Promise<void> {
    return this.open.size === 0 ? Promise.resolve() : new Promise((resolve) => this.drained.push(resolve));
  }

  private async lookUpWithin(due: DueTimeout, ms: number): Promise<unknown> {
    const limit = new AbortController();
    this.limits.add(limit);
    if (this.isStopping) limit.abort();
    const timer = this.clock.after(Math.max(ms, 1), () => limit.abort());
    const ended = rejectedBy(limit.signal, ms);
    try {
      // A handler that does not obey the signal must not keep its place for ever.
      return await Promise.race([this.deps.handler.lookUp(due, limit.signal), ended.promise]);
    } finally {
      timer.cancel();
      ended.forget();
      this.limits.delete(limit);
    }
  }

  /** Keeps the answers until the database can be asked again, or their leases end. */
  private giveBack(items: readonly Answered[], error: unknown): void {
    this.deps.away(error);
    for (const item of items) {
      if (this.mayWrite(item)) this.clock.after(REWRITE_MS, () => this.answered.add([item]));
      else item.done('unwritten');
    }
  }

  private mayWrite({ endsAtMs }: Pick<Answered, 'endsAtMs'>): boolean {
    return !this.isStopping && this.clock.monotonic() + REWRITE_MS < endsAtMs;
  }

  private async settleTogether(items: readonly Answered[]): Promise<void> {
    const causes = new Map(items.map(({ due }) => [due.key, due.cause]));
    const batch = await this.deps.settler.settle(
      (tx) => this.lock(tx, items),
      (row) => causes.get(row.key) ?? 'message',
      new Map(items.map(({ due, answer }) => [due.key, answer])),
    );
    this.deps.committed(batch);
    const busy = new Set(batch.early.map(({ key }) => key));
    for (const item of items) {
      if (!busy.has(item.due.key)) item.done('finished');
      else if (this.isStopping) item.done('unwritten');
      else this.clock.after(BUSY_MS, () => this.answered.add([item]));
    }
  }

  /** Rows whose lease was lost meanwhile are not returned: their new owner decides. */
  private async lock(tx: EntityManager, items: readonly Answered[]): Promise<Selection> {
    const rows = await tx.query<BusyRow[]>(this.deps.queries.lockLeased, [
      this.deps.kind,
      items.map(({ due }) => due.key),
      items.map(({ due }) => due.generation),
      items.map(({ lease }) => lease),
    ]);
    return { due: rows.filter((row) => !row.busy), early: rows.filter((row) => row.busy) };
  }

  private async fail(asked: Pick<Answered, 'due' | 'lease' | 'endsAtMs'>, error: unknown): Promise<WakeUpResult> {
    const { due, lease } = asked;
    // Cut short by us: nobody's fault, and due again when the lease ends.
    while (!this.isStopping) {
      try {
        const failure = failureOf(error, this.deps.databaseClock.nowMs());
        this.deps.committed(await this.deps.settler.fail(due, due.cause, { ...failure, lease }));
        return 'finished';
      } catch (fault) {
        this.deps.away(fault);
        if (!this.mayWrite(asked)) break;
        await this.clock.sleep(REWRITE_MS);
      }
    }
    return 'unwritten';
  }

  private close(due: DueTimeout): void {
    this.open.delete(due);
    this.deps.closed();
    if (this.open.size === 0) for (const resolve of this.drained.splice(0)) resolve();
  }
}
