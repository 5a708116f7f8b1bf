import { Counter, Histogram, type Registry } from 'prom-client';
import { type SettledRow, type TimeoutObserver } from '../timeouts';

/** From the hold's own precision to the sweep's interval and beyond. */
const LATENESS_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** Counts what the engine did. */
export class EngineMetrics implements TimeoutObserver {
  private readonly lateness: Histogram<'kind' | 'cause'>;
  private readonly settledTotal: Counter<'kind' | 'cause' | 'outcome'>;
  private readonly awayTotal: Counter<'kind'>;
  private readonly undecodableTotal: Counter<'kind'>;
  private readonly missedTotal: Counter<'kind'>;
  private readonly switches: Counter<'name'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.lateness = new Histogram({
      name: 'order_timeout_lateness_seconds',
      help: 'From the deadline to the commit of its effect, by kind and by the clock that brought it',
      labelNames: ['kind', 'cause'],
      buckets: LATENESS_BUCKETS,
      registers,
    });
    this.settledTotal = new Counter({
      name: 'order_timeout_settled_total',
      help: 'Timeouts that a transaction dealt with, by outcome',
      labelNames: ['kind', 'cause', 'outcome'],
      registers,
    });
    this.awayTotal = new Counter({
      name: 'order_timeout_away_total',
      help: 'Times that nothing could be written down, because the database was away',
      labelNames: ['kind'],
      registers,
    });
    this.undecodableTotal = new Counter({
      name: 'order_timeout_undecodable_total',
      help: 'Wake-ups that could not be read and were parked on the broker',
      labelNames: ['kind'],
      registers,
    });
    this.missedTotal = new Counter({
      name: 'order_timeout_missed_wake_ups_total',
      help: 'Timeouts that the sweep took over while the message path was up: their wake-ups were lost or are stalled',
      labelNames: ['kind'],
      registers,
    });
    this.switches = new Counter({
      name: 'order_timeout_transport_switches_total',
      help: 'Times that a delay transport was taken into use',
      labelNames: ['name'],
      registers,
    });
  }

  settled(kind: string, rows: readonly SettledRow[], nowMs: number): void {
    for (const { due, outcome } of rows) {
      this.settledTotal.inc({ kind, cause: due.cause, outcome: outcome.type });
      // Only what is done: a wait for a provider says nothing about how punctual we are.
      if (outcome.type !== 'done') continue;
      this.lateness.observe({ kind, cause: due.cause }, Math.max(0, nowMs - due.dueAt.getTime()) / 1_000);
    }
  }

  away(kind: string): void {
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
