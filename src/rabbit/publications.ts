import { type Clock, type Timer } from '../clock';

/** One message for the broker. Always persistent, always confirmed. */
export interface Publication {
  readonly exchange: string;
  readonly routingKey: string;
  readonly body: Buffer;
  /** The outbox id, which stays the same when the message is published again. Consumers deduplicate by it. */
  readonly messageId: string;
  /** AMQP `type` property: the kind of message, for example `order.closed`. */
  readonly type: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  /** AMQP `correlation-id` property: which request this message answers. */
  readonly correlationId?: string;
  /** AMQP `app-id` property: who has sent it. */
  readonly appId?: string;
  /**
   * Asks the broker to return the message if no queue is bound. Not for the delayed exchange, which returns it and
   * delivers it, too.
   */
  readonly mandatory?: boolean;
}

/**
 * The outcome of a publication.
 * - `unknown`: not sent, or the channel closed before the answer. It may or may not be in the queue, so publish it
 *   again.
 * - `unencodable`: not a valid AMQP message, for example because its headers are too large. Nothing was or can be sent.
 * - `too-large`: its body exceeds the broker's `max_message_size`.
 * - `late`: not confirmed within 500 ms. The `PublishWatch` of the call is told its outcome.
 */
export type PublishOutcome = 'confirmed' | 'nacked' | 'returned' | 'unknown' | 'unencodable' | 'too-large' | 'late';

/** Receives events about single publications of a call, by their index in it. */
export interface PublishWatch {
  /** Why a publication is `unencodable` or `too-large`. Called before the call resolves. */
  refused(index: number, reason: string): void;
  /** The broker has answered for a `late` publication. */
  answered(index: number, outcome: PublishOutcome): void;
  /** A `late` publication was not confirmed within the time limit. On the open channel, its confirm may still come. */
  timedOut(index: number): void;
}

/** A publication without an answer of the broker. */
export interface Unconfirmed {
  readonly call: PublishCall;
  readonly index: number;
  readonly messageId: string;
  readonly bodyBytes: number;
  /** By the monotonic clock. */
  readonly sentAt: number;
  isReturned: boolean;
}

interface Stage {
  /** In the order of sending, so that the first member is the first to leave. */
  readonly members: Set<Unconfirmed>;
  /** Milliseconds after sending. */
  readonly endsAfterMs: number;
  /** Called for each member whose time in this stage has ended. */
  ended(this: void, unconfirmed: Unconfirmed): void;
}

/** A confirm takes milliseconds, at most some hundred under load. A slower one must not keep others from being sent. */
const LATE_MS = 500;

/** After this time on an open channel, the broker will not answer. */
const FORGOTTEN_MS = 300_000;

/** About 10 MB of memory. The oldest are forgotten. */
const MOST_OVERDUE = 25_000;

/** All publications without a confirm, in three stages: in the window, late, and past the time limit. */
export class UnconfirmedPublications {
  private readonly window: Stage;
  private readonly overdue: Stage;
  private readonly stages: readonly Stage[];
  private timer: Timer | undefined;

  constructor(
    private readonly clock: Clock,
    confirmTimeoutMs: number,
    /** The window has room again. */
    private readonly freed: () => void,
  ) {
    const late: Stage = {
      members: new Set(),
      endsAfterMs: confirmTimeoutMs,
      ended: (one) => {
        this.overdue.members.add(one);
        one.call.timedOut(one.index);
      },
    };
    this.window = {
      members: new Set(),
      endsAfterMs: Math.min(LATE_MS, confirmTimeoutMs),
      ended: (one) => {
        late.members.add(one);
        one.call.late(one.index);
      },
    };
    this.overdue = { members: new Set(), endsAfterMs: FORGOTTEN_MS, ended: () => undefined };
    this.stages = [this.window, late, this.overdue];
  }

  get inWindow(): number {
    return this.window.members.size;
  }

  get size(): number {
    return this.stages.reduce((sum, { members }) => sum + members.size, 0);
  }

  /** How long the broker has owed the oldest confirm, milliseconds. */
  get oldestMs(): number {
    const oldest = this.stages.findLast(({ members }) => members.size > 0);
    const [first] = oldest?.members ?? [];
    return first ? this.clock.monotonic() - first.sentAt : 0;
  }

  add(unconfirmed: Unconfirmed): void {
    this.window.members.add(unconfirmed);
    this.timer ??= this.clock.after(this.window.endsAfterMs, () => this.moveOn());
  }

  /** False if it has left already. */
  delete(unconfirmed: Unconfirmed): boolean {
    if (this.window.members.delete(unconfirmed)) return true;
    const isFound = this.stages.some(({ members }) => members.delete(unconfirmed));
    if (this.size === 0) this.stopTimer();
    return isFound;
  }

  *[Symbol.iterator](): Generator<Unconfirmed> {
    for (const { members } of this.stages) yield* members;
  }

  stopTimer(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  private moveOn(): void {
    this.timer = undefined;
    const now = this.clock.monotonic();
    for (const stage of this.stages) endStage(stage, now);
    for (const one of this.overdue.members) {
      if (this.overdue.members.size <= MOST_OVERDUE) break;
      this.overdue.members.delete(one);
    }
    const next = this.stages.map(nextEnd).reduce((first, each) => Math.min(first, each), Infinity);
    if (next < Infinity) this.timer ??= this.clock.after(next - now, () => this.moveOn());
    this.freed();
  }
}

function endStage({ members, endsAfterMs, ended }: Stage, now: number): void {
  for (const one of members) {
    if (one.sentAt + endsAfterMs > now) return;
    members.delete(one);
    ended(one);
  }
}

function nextEnd({ members, endsAfterMs }: Stage): number {
  const [first] = members;
  return first ? first.sentAt + endsAfterMs : Infinity;
}

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
