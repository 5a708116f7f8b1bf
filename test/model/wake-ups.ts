import { type TimeoutCause, type TimeoutRef } from '../../src/timeouts/model/timeout';
import { type Agenda } from './agenda';
import { type Random } from './random';
import { type TimeoutRow, type TimeoutTable } from './timeout-table';

/** How badly messages fare in this run. */
export interface MessagePlan {
  readonly loss: number;
  readonly duplicates: number;
  readonly delayMs: number;
  /** Share of the timeouts that are brought too early, and of those messages that are believed: a clock was wrong. */
  readonly early: number;
}

interface Surroundings {
  readonly agenda: Agenda;
  readonly random: Random;
  readonly messages: MessagePlan;
}

const SWEEP_MS = 30_000;
const SWEEP_MARGIN_MS = 5_000;

/** The two clocks that bring timeouts to workers: messages, which may fail, and the sweep, which is late. */
export class WakeUps {
  private readonly held = new Set<string>();
  private readonly sweeps = new Map<string, number>();
  private readonly sweepPhase: number;

  constructor(
    private readonly around: Surroundings,
    private readonly table: TimeoutTable,
    private readonly bring: (ref: TimeoutRef, generation: number, cause: TimeoutCause) => void,
  ) {
    this.sweepPhase = around.random.between(0, SWEEP_MS);
  }

  /** A row is to be looked at again at its `nextAttemptAt`. */
  announce(row: TimeoutRow): void {
    const { agenda, random, messages } = this.around;
    this.armSweep(row, row.nextAttemptAt);
    if (!random.chance(messages.loss)) this.post(row, row.generation, row.nextAttemptAt);
    if (random.chance(messages.early)) this.post(row, row.generation, random.between(agenda.nowMs, row.nextAttemptAt));
    if (!random.chance(messages.duplicates)) return;
    this.post(row, row.generation, row.nextAttemptAt + random.between(-2_000, 20_000));
  }

  post(ref: TimeoutRef, generation: number, atMs: number): void {
    const { agenda, random, messages } = this.around;
    agenda.at(atMs + random.next() * messages.delayMs, () => this.bring(ref, generation, 'message'));
  }

  /** A message that comes too early is kept; those about one row are worked on together when it is due. */
  hold(row: TimeoutRow): void {
    const id = `${row.generation} ${row.nextAttemptAt}`;
    if (this.held.has(id)) return;
    this.held.add(id);
    this.post(row, row.generation, row.nextAttemptAt);
  }

  /** The first run of the sweep after `fromMs` and its margin; an earlier one that is planned already stays. */
  armSweep({ kind, key }: TimeoutRef, fromMs: number): void {
    const { agenda } = this.around;
    const runs = Math.ceil((Math.max(fromMs + SWEEP_MARGIN_MS, agenda.nowMs + 1) - this.sweepPhase) / SWEEP_MS);
    const at = runs * SWEEP_MS + this.sweepPhase;
    const id = `${kind}\n${key}`;
    if ((this.sweeps.get(id) ?? Infinity) <= at) return;
    this.sweeps.set(id, at);
    agenda.at(at, () => this.sweep({ kind, key }, at));
  }

  private sweep(ref: TimeoutRef, at: number): void {
    const id = `${ref.kind}\n${ref.key}`;
    if (this.sweeps.get(id) !== at) return;
    this.sweeps.delete(id);
    const row = this.table.find(ref);
    if (row?.state !== 'pending') return;
    this.armSweep(ref, row.nextAttemptAt);
    if (row.nextAttemptAt <= this.around.agenda.nowMs - SWEEP_MARGIN_MS) this.bring(ref, row.generation, 'sweep');
  }
}
