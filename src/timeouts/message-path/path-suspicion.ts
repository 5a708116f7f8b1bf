import { type Clock } from '../../clock';

/** Two runs of a sweep with missed wake-ups within this time make the path suspect. */
const WINDOW_MS = 600_000;
/** For this long after it was cleared, one run is enough. */
const PROBATION_MS = 3_600_000;
/** How long a path that fails again stays suspect at least; doubled each time. */
const FIRST_HOLD_MS = 600_000;
const LONGEST_HOLD_MS = 7_200_000;

/**
 * Whether the message path can be trusted, by what the sweeps of this process find. A path that keeps losing wake-ups
 * becomes suspect, and the sweep is the clock until it is cleared. One that fails again soon stays suspect for longer each
 * time, so that neither republications nor late timeouts go on forever.
 */
export class PathSuspicion {
  private readonly missedAt = new Map<string, number>();
  private sinceMs: number | undefined;
  private clearedMs = -Infinity;
  private relapses = 0;
  private reason = '';

  constructor(private readonly clock: Clock) {}

  get isSuspect(): boolean {
    return this.sinceMs !== undefined;
  }

  /** Why it is suspect; undefined while it is not. */
  get cause(): string | undefined {
    return this.isSuspect ? this.reason : undefined;
  }

  /** Notes that a run of the sweep found timeouts whose wake-ups did not come. Returns true when that looks like a fault of the path. */
  missed(kind: string): boolean {
    const nowMs = this.clock.monotonic();
    const before = this.missedAt.get(kind) ?? -Infinity;
    this.missedAt.set(kind, nowMs);
    return nowMs - before <= WINDOW_MS || nowMs - this.clearedMs <= PROBATION_MS;
  }

  /** Makes the path suspect, or replaces the reason. Returns whether it was not suspect before. */
  suspect(cause: string): boolean {
    this.reason = cause;
    if (this.isSuspect) return false;
    this.sinceMs = this.clock.monotonic();
    this.relapses = this.sinceMs - this.clearedMs <= PROBATION_MS ? this.relapses + 1 : 0;
    return true;
  }

  /** Forgets missed wake-ups that were not the fault of the path. */
  excuse(kinds: readonly string[]): void {
    for (const kind of kinds) this.missedAt.delete(kind);
  }

  /** Clears the path, unless it has to stay suspect for longer. Returns whether it is cleared now. */
  clear(): boolean {
    if (this.sinceMs === undefined) return true;
    const nowMs = this.clock.monotonic();
    if (nowMs - this.sinceMs < this.holdMs()) return false;
    this.sinceMs = undefined;
    this.clearedMs = nowMs;
    this.missedAt.clear();
    return true;
  }

  private holdMs(): number {
    return this.relapses === 0 ? 0 : Math.min(FIRST_HOLD_MS * 2 ** (this.relapses - 1), LONGEST_HOLD_MS);
  }
}
