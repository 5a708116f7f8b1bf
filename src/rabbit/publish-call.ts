import { type Timer } from '../clock';
import { type Publication, type PublishOutcome, type PublishWatch } from './publication';

/** A publication and its position in the result. */
export interface TakenPublication {
  readonly publication: Publication;
  readonly index: number;
}

/** One call of `publish`: the publications still to be sent, and the outcomes of the others. */
export class PublishCall {
  private readonly outcomes: PublishOutcome[] = [];
  private taken = 0;
  private recorded = 0;
  private hasMore = true;
  private timer: Timer | undefined;

  /** @param watch without one, the call waits for late confirms itself. */
  constructor(
    private readonly publications: Iterator<Publication>,
    private readonly resolve: (outcomes: PublishOutcome[]) => void,
    private readonly watch?: PublishWatch,
  ) {}

  /** All publications were taken; only answers are missing. */
  get isTaken(): boolean {
    return !this.hasMore;
  }

  /** Cancels `timer` as soon as all publications are taken. */
  limit(timer: Timer): void {
    this.timer = timer;
  }

  /** Undefined if none is left. */
  take(): TakenPublication | undefined {
    const next = this.hasMore ? this.publications.next() : undefined;
    if (next && next.done !== true) return { publication: next.value, index: this.taken++ };
    this.hasMore = false;
    this.timer?.cancel();
    this.resolveIfDone();
    return undefined;
  }

  /** The first outcome counts, except for `late`. */
  record(index: number, outcome: PublishOutcome): void {
    const known = this.outcomes[index];
    if (known === 'late') this.watch?.answered(index, outcome);
    if (known !== undefined) return;
    this.outcomes[index] = outcome;
    this.recorded += 1;
    this.resolveIfDone();
  }

  refuse(index: number, outcome: 'unencodable' | 'too-large', reason: string): void {
    this.watch?.refused(index, reason);
    this.record(index, outcome);
  }

  /** The publication has left the window. */
  late(index: number): void {
    if (this.watch) this.record(index, 'late');
  }

  /** The publication needs no further wait. */
  timedOut(index: number): void {
    if (this.watch) this.watch.timedOut(index);
    else this.record(index, 'unknown');
  }

  /** No more publications of this call will be sent. */
  giveUp(): void {
    for (let rest = this.take(); rest; rest = this.take()) this.record(rest.index, 'unknown');
  }

  private resolveIfDone(): void {
    if (!this.hasMore && this.recorded === this.taken) this.resolve(this.outcomes);
  }
}
