import { type Clock, type Timer } from '../clock';
import { type PublishCall } from './publish-call';

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

/**
 * All publications without a confirm, in three stages: in the window, late, and past the time limit. Uses one timer for
 * all.
 */
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

  /** Number of publications in the window. */
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
