import { type Clock } from '../../clock';

/** For this long after it was cleared, one run of a sweep with missed wake-ups is enough. */
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
  /** Kinds whose wake-ups one run of a sweep has missed. */
  private readonly missedBefore = new Set<string>();
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

  /**
   * Notes a run of the sweep with missed wake-ups that nothing explains. Returns true when that looks like a fault of the
   * path: at the second run of a kind, however much later. Wake-ups that were lost together are missed one by one, each at
   * its own deadline, while later ones arrive.
   */
  missed(kinds: readonly string[]): boolean {
    const isProbation = this.clock.monotonic() - this.clearedMs <= PROBATION_MS;
    const isFault = kinds.some((kind) => isProbation || this.missedBefore.has(kind));
    for (const kind of kinds) this.missedBefore.add(kind);
    return isFault;
  }

  /** Makes the path suspect, or replaces the reason. Returns whether it was not suspect before. */
  suspect(cause: string): boolean {
    this.reason = cause;
    if (this.isSuspect) return false;
    this.sinceMs = this.clock.monotonic();
    this.relapses = this.sinceMs - this.clearedMs <= PROBATION_MS ? this.relapses + 1 : 0;
    return true;
  }

  /** Clears the path, unless it has to stay suspect for longer. Returns whether it is cleared now. */
  clear(): boolean {
    if (this.sinceMs === undefined) return true;
    const nowMs = this.clock.monotonic();
    if (nowMs - this.sinceMs < this.holdMs()) return false;
    this.sinceMs = undefined;
    this.clearedMs = nowMs;
    this.missedBefore.clear();
    return true;
  }

  private holdMs(): number {
    return this.relapses === 0 ? 0 : Math.min(FIRST_HOLD_MS * 2 ** (this.relapses - 1), LONGEST_HOLD_MS);
  }
}
