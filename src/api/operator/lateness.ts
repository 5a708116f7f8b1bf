import { type SettledRow, type TimeoutCause, type TimeoutObserver } from '../../timeouts';

/** What brings timeouts to their handlers, in the words of the page. */
export const CLOCKS = ['message', 'sweep', 'access'] as const;

type ClockName = (typeof CLOCKS)[number];

/** How late the last timeouts of this process were, in milliseconds after their deadlines. Null: there were none. */
export interface ClockLateness {
  readonly clock: ClockName;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** How many timeouts these numbers are of. */
  readonly count: number;
}

const KEPT = 1_000;
const CLOCK_OF: Readonly<Record<TimeoutCause, ClockName | undefined>> = {
  message: 'message',
  sweep: 'sweep',
  passive: 'access',
  operator: undefined,
};

/** Keeps how late the last 1,000 timeouts of each clock were. */
export class Lateness implements Pick<TimeoutObserver, 'settled'> {
  private readonly samples = new Map<ClockName, { readonly values: number[]; next: number }>();

  settled(_kind: string, rows: readonly SettledRow[], nowMs: number): void {
    for (const { due, outcome } of rows) {
      const clock = CLOCK_OF[due.cause];
      // A wait for a provider says nothing about punctuality.
      if (clock && outcome.type === 'done') this.add(clock, Math.max(0, nowMs - due.dueAt.getTime()));
    }
  }

  read(): ClockLateness[] {
    return CLOCKS.map((clock) => {
      const sorted = [...(this.samples.get(clock)?.values ?? [])].sort((a, b) => a - b);
      const at = (share: number): number | null => sorted[Math.ceil(share * sorted.length) - 1] ?? null;
      return { clock, p50Ms: at(0.5), p99Ms: at(0.99), count: sorted.length };
    });
  }

  private add(clock: ClockName, lateMs: number): void {
    const sample = this.samples.get(clock) ?? { values: [], next: 0 };
    sample.values[sample.next] = Math.round(lateMs);
    sample.next = (sample.next + 1) % KEPT;
    this.samples.set(clock, sample);
  }
}
