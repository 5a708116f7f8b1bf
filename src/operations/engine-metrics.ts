import { Counter, Histogram, type Registry } from 'prom-client';
import { type SettledRow, type TimeoutObserver } from '../timeouts';

/** In seconds: from the precision of a held wake-up to the interval of the sweep and beyond. */
const LATENESS_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** Counts the engine's work. */
export class EngineMetrics implements TimeoutObserver {
  private readonly lateness: Histogram<'kind' | 'cause'>;
  private readonly settledTotal: Counter<'kind' | 'cause' | 'outcome'>;
  private readonly awayTotal: Counter<'kind'>;
  private readonly undecodableTotal: Counter<'kind'>;
  private readonly missedTotal: Counter<'kind'>;
  private readonly switches: Counter<'name'>;

  /** @param kinds what this process handles: their counters begin at 0, so that a first increase is seen */
  constructor(registry: Registry, kinds: () => readonly string[] = () => []) {
    const registers = [registry];
    const byKind = (name: string, help: string): Counter<'kind'> =>
      new Counter({
        ...{ name, help, labelNames: ['kind'], registers },
        collect() {
          for (const kind of kinds()) this.inc({ kind }, 0);
        },
      });
    this.lateness = new Histogram({
      name: 'order_timeout_lateness_seconds',
      help: 'Seconds from the deadline to the commit of its effect, by kind and cause',
      labelNames: ['kind', 'cause'],
      buckets: LATENESS_BUCKETS,
      registers,
    });
    this.settledTotal = new Counter({
      name: 'order_timeout_settled_total',
      help: 'Timeouts that a transaction handled, by kind, cause, and outcome',
      labelNames: ['kind', 'cause', 'outcome'],
      registers,
    });
    this.awayTotal = byKind(
      'order_timeout_away_total',
      'Runs whose result could not be written, because the database was unavailable',
    );
    this.undecodableTotal = byKind(
      'order_timeout_undecodable_total',
      'Wake-ups that could not be read and were parked on the broker',
    );
    this.missedTotal = byKind(
      'order_timeout_missed_wake_ups_total',
      'Timeouts that the sweep handled while the message path was up, because their wake-ups were lost or stalled',
    );
    this.switches = new Counter({
      name: 'order_timeout_transport_switches_total',
      help: 'Times that a delay transport was put into use',
      labelNames: ['name'],
      registers,
    });
  }

  settled(kind: string, rows: readonly SettledRow[], nowMs: number): void {
    for (const { due, outcome } of rows) {
      this.settledTotal.inc({ kind, cause: due.cause, outcome: outcome.type });
      // Only finished timeouts: a wait for a provider says nothing about punctuality.
      if (outcome.type !== 'done') continue;
      this.lateness.observe({ kind, cause: due.cause }, Math.max(0, nowMs - due.dueAt.getTime()) / 1_000);
    }
  }

  unavailable(kind: string): void {
    this.awayTotal.inc({ kind });
  }

  undecodable(kind: string): void {
    this.undecodableTotal.inc({ kind });
  }

  wakeUpsMissed(kind: string, count: number): void {
    this.missedTotal.inc({ kind }, count);
  }

  transport(name: string): void {
    this.switches.inc({ name });
  }
}
