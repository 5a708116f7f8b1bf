import { type Clock } from '../clock';

/** A place in the order of (time, key). */
export interface ScanPosition {
  /** PostgreSQL's text, to the microsecond. */
  readonly at: string;
  readonly key: string;
}

/** What to read of a table that is ordered by time: after `from`, and before the time `until`. */
export interface ScanRange {
  readonly from: ScanPosition;
  readonly until: string;
  /** When its reading began, epoch milliseconds by the database's clock. */
  readonly beganMs: number;
  /** Where it begins, epoch milliseconds. */
  readonly sinceMs: number;
  /** It lies before what is read each time. */
  readonly isPast: boolean;
}

/** One page of a range, as it was read. */
export interface ScannedPage {
  /** The last row, where there may be more of the range behind it. */
  readonly last?: ScanPosition | undefined;
  /** What reading has cost, milliseconds. */
  readonly costMs: number;
}

/** Rows carry the start time of their transaction. Those that commit within this time after it are found by the next scan. */
const OVERLAP_MS = 1_000;
/** On a stalled machine, reading the newest again may take this long. */
const NEWEST_MS = 10_000;
/** Limits for reading the past: how often, and which share of the time. */
const PAST_PAUSE_MS = 1_000;
const PAST_SHARE = 0.02;
const MOST_CREDIT_MS = 200;
/** A read that took seconds, for example of a slow disk, must not keep rows that appear in the past waiting for minutes. */
const MOST_DEBT_MS = 500;
/** A slice of the past that costs less may be wider, one that costs more should be narrower. */
const CHEAP_MS = 10;
const DEAR_MS = 50;
const NARROWEST_MS = 1_000;
const WIDEST_FINITE_MS = 30 * 86_400_000;
const FIRST_FINITE_MS = 3_600_000;
/** Each slice is wider than the one before, however slow it was, so that a round ends. */
const LEAST_GROWTH = 1.05;

/**
 * Keeps scans in the order of time away from dead rows. While somebody holds an old snapshot (pg_dump, an idle reader),
 * PostgreSQL cannot remove the index entries of rows that are gone, and a scan from the beginning reads all of them: 0.6 µs
 * each, 233 ms at 400 000. So a scan begins shortly before the last one that came to the end. Rows that
 * appear before that point, from transactions that took longer than the overlap, or because they were locked, are found in
 * the past. It is read in slices, back to its beginning, for at most 2 % of the time, but at least every 25 s. At the start
 * nothing is known, so the first reading of the past is not limited.
 */
export class ScanWindow {
  private floorMs: number | undefined;
  private newestMs = Infinity;
  private round: { untilMs: number; widthMs: number; isBegun: boolean } | undefined;
  private firstWidthMs = Infinity;
  private roundBeganAtMs = -Infinity;
  private isFirstRound = true;
  private creditMs = 0;
  private creditedAtMs: number;

  constructor(private readonly clock: Clock) {
    this.creditedAtMs = clock.monotonic();
  }

  /** What is due since the last complete scan. @param nowMs by the database's clock, never ahead of it */
  recent(nowMs: number): ScanRange {
    this.floorMs ??= nowMs - OVERLAP_MS;
    return rangeOf({ sinceMs: this.floorMs, untilMs: Infinity, beganMs: nowMs, isPast: false });
  }

  /**
   * What has become due since this was asked last, within ten seconds, whatever has been read otherwise. A page of it is
   * enough: the rest is met in its turn.
   */
  newest(nowMs: number): ScanRange {
    const sinceMs = Math.max(Math.min(this.newestMs, nowMs) - OVERLAP_MS, nowMs - NEWEST_MS);
    this.newestMs = nowMs;
    return rangeOf({ sinceMs, untilMs: Infinity, beganMs: nowMs, isPast: false });
  }

  /** The next slice of the past; undefined: not now. It stays the same until a reader has come to its end. */
  past(nowMs: number): ScanRange | undefined {
    this.floorMs ??= nowMs - OVERLAP_MS;
    const round = (this.round ??= this.beginRound(this.floorMs));
    if (!round || !this.mayRead()) return undefined;
    const { untilMs, widthMs } = round;
    return rangeOf({ sinceMs: untilMs - widthMs, untilMs, beganMs: nowMs, isPast: true });
  }

  /** Notes a page that was read. Returns what is left of its range. */
  read(range: ScanRange, { last, costMs }: ScannedPage): ScanRange | undefined {
    if (last) return { ...range, from: last };
    if (range.isPast) this.passed(range, costMs);
    else this.floorMs = range.beganMs - OVERLAP_MS;
    return undefined;
  }

  /** The range could not be read, perhaps because it takes longer than a statement may. */
  failed(range: ScanRange, costMs: number): void {
    if (!this.round || !range.isPast) return;
    this.spend(costMs);
    this.round.widthMs = narrower(this.round.widthMs, 16);
    if (!this.round.isBegun) this.firstWidthMs = this.round.widthMs;
  }

  private beginRound(floorMs: number): typeof this.round {
    const nowMs = this.clock.monotonic();
    if (nowMs - this.roundBeganAtMs < PAST_PAUSE_MS) return undefined;
    this.roundBeganAtMs = nowMs;
    return { untilMs: floorMs, widthMs: this.firstWidthMs, isBegun: false };
  }

  private mayRead(): boolean {
    const nowMs = this.clock.monotonic();
    this.creditMs = Math.min(this.creditMs + (nowMs - this.creditedAtMs) * PAST_SHARE, MOST_CREDIT_MS);
    this.creditedAtMs = nowMs;
    return this.isFirstRound || this.creditMs >= 0;
  }

  private spend(costMs: number): void {
    this.creditMs = Math.max(this.creditMs - costMs, -MOST_DEBT_MS);
  }

  private passed(range: ScanRange, costMs: number): void {
    this.spend(costMs);
    const { round } = this;
    // Another reader came to its end first.
    if (!round || range.until !== textOf(round.untilMs)) return;
    const isCheap = costMs < CHEAP_MS;
    if (!round.isBegun) this.firstWidthMs = isCheap ? wider(round.widthMs, 4) : this.firstWidthAfter(costMs);
    if (range.sinceMs === -Infinity) {
      this.round = undefined;
      this.isFirstRound = false;
    } else {
      this.round = { untilMs: range.sinceMs, widthMs: wider(round.widthMs, isCheap ? 4 : LEAST_GROWTH), isBegun: true };
    }
  }

  private firstWidthAfter(costMs: number): number {
    return costMs > DEAR_MS ? narrower(this.firstWidthMs, 4) : this.firstWidthMs;
  }
}

interface Bounds {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly beganMs: number;
  readonly isPast: boolean;
}

function rangeOf({ untilMs, ...range }: Bounds): ScanRange {
  return { ...range, from: { at: textOf(range.sinceMs), key: '' }, until: textOf(untilMs) };
}

function textOf(ms: number): string {
  if (Number.isFinite(ms)) return new Date(ms).toISOString();
  return ms < 0 ? '-infinity' : 'infinity';
}

function wider(widthMs: number, times: number): number {
  return widthMs * times > WIDEST_FINITE_MS ? Infinity : widthMs * times;
}

function narrower(widthMs: number, times: number): number {
  return Math.max(Math.min(widthMs, FIRST_FINITE_MS) / times, NARROWEST_MS);
}
