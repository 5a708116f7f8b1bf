import fc from 'fast-check';
import { type ScanRange, ScanWindow } from '../../../src/database';
import { ManualClock } from '../../support/manual-clock';

const PAGE = 3;
/** What one entry of an index costs, milliseconds. */
const ENTRY_MS = 0.001;
/** From the model: a scan each 200 ms, and the past at most 3 % of the time. */
const SCAN_MS = 200;

interface Row {
  readonly at: number;
  readonly key: string;
  /** When its transaction commits; until then nobody sees it. */
  readonly visibleAt: number;
  taken?: number;
}

/** A table in the order of time, whose dead rows stay in the index, and one process that scans it. */
class Table {
  readonly rows: Row[] = [];
  readonly clock = new ManualClock();
  readonly window = new ScanWindow(this.clock);
  /** How far the database's clock is ahead of the start. */
  offsetMs = 0;
  entriesRead = 0;
  private readonly dead: { at: number; count: number }[] = [];

  get nowMs(): number {
    return this.clock.monotonic() + this.offsetMs;
  }

  /** So many dead entries come into the index. */
  bury(at: number, count: number): void {
    this.dead.push({ at, count });
  }

  /** One turn of a relay: a slice of the past if it is its turn, and what is due since the last scan. */
  turn(): void {
    const past = this.window.past(this.nowMs);
    if (past) this.readToTheEnd(past);
    this.readToTheEnd(this.window.recent(this.nowMs));
  }

  private readToTheEnd(range: ScanRange): void {
    for (let rest: ScanRange | undefined = range; rest; rest = this.readPage(rest));
  }

  private readPage(range: ScanRange): ScanRange | undefined {
    const from = Math.min(timeOf(range.from.at), this.nowMs);
    const isIn = (at: number): boolean => at >= from && at <= this.nowMs && at < timeOf(range.until);
    const due = this.rows.filter(({ at, key, visibleAt, taken }) => {
      const isAfter = at > from || range.from.key === '' || key > range.from.key;
      return taken === undefined && visibleAt <= this.clock.monotonic() && isIn(at) && isAfter;
    });
    const page = due.toSorted((a, b) => a.at - b.at || (a.key < b.key ? -1 : 1)).slice(0, PAGE);
    for (const row of page) {
      row.taken = this.clock.monotonic();
      this.bury(row.at, 1);
    }
    const entries = this.dead.reduce((sum, { at, count }) => sum + (isIn(at) ? count : 0), 0);
    this.entriesRead += entries;
    const last = page.length === PAGE ? page.at(-1) : undefined;
    return this.window.read(range, {
      ...(last && { last: { at: new Date(last.at).toISOString(), key: last.key } }),
      costMs: entries * ENTRY_MS,
    });
  }
}

function timeOf(text: string): number {
  if (text === 'infinity') return Infinity;
  return text === '-infinity' ? -Infinity : new Date(text).getTime();
}

describe('the window of a scan in the order of time', () => {
  it('begins with everything, oldest first', () => {
    const { window, nowMs } = new Table();
    const past = window.past(nowMs);
    expect(past).toMatchObject({ from: { at: '-infinity' }, isPast: true });
    expect(past?.until).toBe(window.recent(nowMs).from.at);
  });

  it('goes on behind the last row of a full page, to the same end', () => {
    const { window, nowMs } = new Table();
    const range = window.recent(nowMs);
    const last = { at: '2026-01-01', key: 'k' };
    expect(window.read(range, { last, costMs: 1 })).toEqual({ ...range, from: last });
  });

  it.each([
    [0, 1_000],
    [300, 1_300],
    [8_000, 9_000],
    [60_000, 10_000],
  ])('begins the newest where they were read %i ms before, and overlaps', (passedMs, wideMs) => {
    const { clock, window } = new Table();
    window.newest(0);
    clock.advance(passedMs);
    expect(window.newest(passedMs)).toMatchObject({ sinceMs: passedMs - wideMs, until: 'infinity', isPast: false });
  });

  it('does not read dead rows again, apart from a slice of the past now and then', () => {
    const table = new Table();
    table.turn();
    for (let n = 0; n < 20; n++) {
      table.clock.advance(1_000);
      table.bury(table.nowMs, 20_000);
      table.turn();
    }
    table.entriesRead = 0;
    const turns = 500;
    for (let n = 0; n < turns; n++) {
      table.clock.advance(SCAN_MS);
      table.turn();
    }
    // From the beginning each time it would be 400 000 a turn: 200 million.
    expect(table.entriesRead / turns).toBeLessThan(9_000);
    expect(table.entriesRead * ENTRY_MS).toBeLessThan(0.04 * turns * SCAN_MS + 50);
  });

  it.each(['is slow', 'fails'])(
    'reads the past again within half a minute after one read of it %s for long',
    (what) => {
      const { clock, window } = new Table();
      const begin = (): ScanRange | undefined => window.past(clock.monotonic());
      const first = begin();
      if (first) window.read(first, { costMs: 1 });
      clock.advance(1_000);
      const slow = begin();
      if (!slow) throw new Error('the past is not read');
      if (what === 'fails') window.failed(slow, 5_000);
      else window.read(slow, { costMs: 5_000 });
      clock.advance(20_000);
      expect(begin()).toBeUndefined();
      clock.advance(10_000);
      expect(begin()).toMatchObject({ isPast: true });
    },
  );

  it('finds every row in bounded time: committed late, due long ago, after the clock was set back', () => {
    const row = fc.record({
      insertedAt: fc.integer({ min: 0, max: 60_000 }),
      openMs: fc.oneof(fc.integer({ min: 0, max: 500 }), fc.integer({ min: 0, max: 30_000 })),
      overdueMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 10 * 86_400_000 })),
    });
    const jump = fc.record({
      at: fc.integer({ min: 0, max: 60_000 }),
      ms: fc.integer({ min: -7_200_000, max: 7_200_000 }),
    });
    const deadOnes = fc.array(fc.integer({ min: 0, max: 7_200_000 }), { maxLength: 50 });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 30 }), fc.array(jump, { maxLength: 2 }), deadOnes, (rows, jumps, dead) => {
        const table = new Table();
        for (const ago of dead) table.bury(table.nowMs - ago, 1_000);
        const start = table.clock.monotonic();
        const events = [
          ...rows.map(({ insertedAt, openMs, overdueMs }, n) => ({
            at: insertedAt,
            run: () => {
              const at = Math.floor(table.nowMs - overdueMs);
              table.rows.push({ at, key: `k${n}`, visibleAt: start + insertedAt + openMs });
            },
          })),
          ...jumps.map(({ at, ms }) => ({ at, run: () => (table.offsetMs += ms) })),
        ].toSorted((a, b) => a.at - b.at);
        // After the last event and the last commit: a clock that went back makes rows due two hours later at most.
        for (let ms = 0; ms < 100_000; ms += SCAN_MS) {
          for (; events[0] && events[0].at <= ms; events.shift()) events[0].run();
          table.turn();
          table.clock.advance(SCAN_MS);
        }
        const due = table.rows.filter(({ at }) => at <= table.nowMs - SCAN_MS);
        const lateBy = (one: Row): number => (one.taken ?? Infinity) - one.visibleAt;
        expect(due.filter((one) => one.taken === undefined)).toEqual([]);
        if (jumps.length === 0) expect(Math.max(0, ...due.map(lateBy))).toBeLessThan(10_000);
      }),
      { numRuns: 60 },
    );
  });

  it('reads narrower slices after one that failed, and ends the round all the same', () => {
    const { window, clock, nowMs } = new Table();
    const whole = window.past(nowMs);
    expect(whole?.from.at).toBe('-infinity');
    if (whole) window.failed(whole, 8_000);
    const slices: ScanRange[] = [];
    for (let slice = window.past(nowMs); slice && slices.length < 1_000; slice = window.past(nowMs)) {
      slices.push(slice);
      window.read(slice, { costMs: 40 });
      if (slice.from.at === '-infinity') break;
      clock.advance(1);
    }
    expect(slices[0]?.until).toBe(whole?.until);
    expect(slices.at(-1)?.from.at).toBe('-infinity');
    expect(slices.slice(1).map(({ until }) => until)).toEqual(slices.slice(0, -1).map(({ from }) => from.at));
    expect(slices.length).toBeGreaterThan(10);
    expect(slices.length).toBeLessThan(400);
  });
});
