import { type Clock } from '../../clock';
import { inSpan } from '../../tracing';
import { type HandlerAdapter } from '../handlers/handler-adapter';
import { type DueTimeout } from '../timeout';
import { type WakeUpResult } from '../wake-ups/work-item';
import { type AnswerDependencies, AnswerSettlement } from './answer-settlement';
import { rejectedBy } from './rejected-by';

interface LookUpDependencies extends AnswerDependencies {
  readonly handler: HandlerAdapter;
  readonly leaseMs: number;
  /** Look-ups that may be open at once. */
  readonly lookUpConcurrency: number;
}

/** The answer must be written while the lease still holds, so the look-up ends this long before it. */
const LEASE_MARGIN_MS = 2_000;

/** Runs the look-ups of handlers outside any transaction, and has their answers settled. */
export class ExternalLookups {
  private readonly answers: AnswerSettlement;
  /** One for each open look-up. Not AbortSignal.any(): Node 20 keeps about 60 bytes of every combined signal forever. */
  private readonly limits = new Set<AbortController>();
  private isStopping = false;
  private readonly open = new Set<DueTimeout>();
  private drained: (() => void)[] = [];
  private onRoom = (): void => undefined;

  constructor(
    private readonly deps: LookUpDependencies,
    private readonly clock: Clock,
  ) {
    this.answers = new AnswerSettlement(deps, clock);
  }

  /** Whether `lookUpConcurrency` look-ups are open. A look-up is open until its answer is written. */
  get isFull(): boolean {
    return this.open.size >= this.deps.lookUpConcurrency;
  }

  /** Calls `listener` whenever a look-up has ended. */
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
      await this.answers.recordFailure(leased, error);
    }
  }

  /** Cancels the open look-ups: the answers of their providers are not waited for any longer. */
  abort(): void {
    this.isStopping = true;
    this.answers.stop();
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
      // A handler that does not obey the signal must not keep its place forever.
      return await Promise.race([this.tracedLookUp(due, limit.signal), ended.promise]);
    } finally {
      timer.cancel();
      ended.forget();
      this.limits.delete(limit);
    }
  }

  private tracedLookUp(due: DueTimeout, signal: AbortSignal): Promise<unknown> {
    const attributes = { 'order_timeout.kind': due.kind, 'order_timeout.key': due.key };
    return inSpan(`look up ${due.kind}`, { attributes, causes: [due.traceparent] }, () =>
      this.deps.handler.lookUp(due, signal),
    );
  }

  private close(due: DueTimeout): void {
    this.open.delete(due);
    this.onRoom();
    if (this.open.size === 0) for (const resolve of this.drained.splice(0)) resolve();
  }
}
