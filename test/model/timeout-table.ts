import { type JsonObject } from '../../src/outbox';
import { type LookUpAnswers, type TimeoutRef } from '../../src/timeouts/model/timeout';

/** The waits between look-ups grow no longer after it. */
const HOUR_MS = 3_600_000;

/** A row of the timeout table, as src/timeouts/migrations describes it. Times in milliseconds since 1970. */
export interface TimeoutRow extends TimeoutRef {
  generation: number;
  dueAt: number;
  /** Back-off and lease at once: nobody takes the row before it. */
  nextAttemptAt: number;
  attempts: number;
  /** Since when it is looked up without a clear answer, or an hour ago after one, without the time of a pause. */
  askedSince: number | null;
  lease: number | null;
  state: 'pending' | 'parked';
  lastError: string | null;
  readonly payload: JsonObject;
}

/** The timeouts of one run. What the engine's SQL does to a row is done here in the same words. */
export class TimeoutTable {
  private readonly rows = new Map<string, TimeoutRow>();
  private generations = 0;
  private leases = 0;

  find({ kind, key }: TimeoutRef): TimeoutRow | undefined {
    return this.rows.get(`${kind}\n${key}`);
  }

  all(): TimeoutRow[] {
    return [...this.rows.values()];
  }

  schedule({ kind, key }: TimeoutRef, dueAt: number, payload: JsonObject): TimeoutRow {
    const row: TimeoutRow = {
      kind,
      key,
      generation: ++this.generations,
      dueAt,
      nextAttemptAt: dueAt,
      attempts: 0,
      askedSince: null,
      lease: null,
      state: 'pending',
      lastError: null,
      payload,
    };
    this.rows.set(`${kind}\n${key}`, row);
    return row;
  }

  remove({ kind, key }: TimeoutRef): void {
    this.rows.delete(`${kind}\n${key}`);
  }

  lease(row: TimeoutRow, nowMs: number, untilMs: number): number {
    row.askedSince = row.askedSince === null ? nowMs : row.askedSince + Math.max(nowMs - row.nextAttemptAt, 0);
    row.lease = ++this.leases;
    row.nextAttemptAt = untilMs;
    return row.lease;
  }

  /** After a clear answer, the waits do not become short again. */
  answered(row: TimeoutRow, answers: LookUpAnswers, nowMs: number): void {
    row.askedSince = answers === 'none' ? null : Math.max(row.askedSince ?? 0, nowMs - HOUR_MS);
  }

  /** A parked row is due now, with a fresh budget. */
  replay(row: TimeoutRow, nowMs: number): void {
    row.state = 'pending';
    row.attempts = 0;
    row.askedSince = null;
    row.lease = null;
    row.nextAttemptAt = nowMs;
    row.generation = ++this.generations;
  }
}
