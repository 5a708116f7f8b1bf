import { type JsonObject } from '../../src/outbox';
import {
  type DueTimeout,
  type TimeoutCause,
  type TimeoutRef,
  type TimeoutOutcome,
  type ResolvedOutcome,
  resolveOutcome,
} from '../../src/timeouts/model/timeout';
import { type Agenda } from './agenda';
import { type Random } from './random';
import { type TimeoutRow, TimeoutTable } from './timeout-table';
import { type Trace } from './trace';
import { type MessagePlan, WakeUps } from './wake-ups';
import { type Errand, Workers } from './workers';

/** A timeout handler of src, in steps: `settle` is one transaction, `ask` tells its answer later, or never. */
export interface ModelHandler<Answer = unknown> {
  settle(due: DueTimeout<Answer>): TimeoutOutcome;
  ask(due: DueTimeout, errand: Errand, answered: (answer: Answer) => void): void;
}

interface Surroundings {
  readonly agenda: Agenda;
  readonly random: Random;
  readonly trace: Trace;
  readonly messages: MessagePlan;
  readonly crashes: number;
  /** Until when nothing is taken. */
  readonly isPausedUntil: () => number;
  /** Whether waiting is counted from the first look-up, and not from when it was due. */
  readonly countsFromLookUp: boolean;
  /** Whether a clear answer lets that begin anew, and makes failures forgotten. */
  readonly forgetsUnclear: boolean;
  /** What a look-up found is written. A worker that died before has told nobody, and a notification may end the asking. */
  readonly written: (answer: unknown) => void;
}

const MAX_ATTEMPTS = 5;
const LEASE_MS = 20_000;
const ASK_MS = LEASE_MS - 2_000;

/** The rules of src/timeouts: rows with generation, lease and back-off, brought by messages, the sweep and reads. */
export class ModelEngine {
  readonly table = new TimeoutTable();
  private readonly handlers = new Map<string, ModelHandler>();
  private readonly workers: Workers;
  private readonly wakeUps: WakeUps;

  constructor(private readonly around: Surroundings) {
    this.workers = new Workers(around.agenda, around.random, around.trace);
    this.wakeUps = new WakeUps(around, this.table, (ref, generation, cause) => this.bring(ref, generation, cause));
  }

  handle<Answer>(kind: string, handler: ModelHandler<Answer>): void {
    this.handlers.set(kind, handler);
  }

  schedule(ref: TimeoutRef, dueAt: Date, payload: JsonObject = {}): void {
    this.wakeUps.announce(this.table.schedule(ref, dueAt.getTime(), payload));
  }

  cancel(ref: TimeoutRef): void {
    this.table.remove(ref);
  }

  /** Somebody noticed that it might be due. */
  wake(ref: TimeoutRef, cause: TimeoutCause): void {
    this.bring(ref, null, cause);
  }

  get hasParked(): boolean {
    return this.table.all().some(({ state }) => state === 'parked');
  }

  /** An operator works off the list of parked timeouts. */
  replayParked(): void {
    for (const row of this.table.all().filter(({ state }) => state === 'parked')) {
      this.around.trace.note(() => `operator replays ${row.kind} ${row.key}`);
      this.table.replay(row, this.around.agenda.nowMs);
      this.wakeUps.announce(row);
    }
  }

  /** A worker starts on a wake-up: the first transaction. */
  private bring(ref: TimeoutRef, generation: number | null, cause: TimeoutCause): void {
    const redeliver =
      cause === 'message' ? () => this.wakeUps.post(ref, generation ?? 0, this.around.agenda.nowMs) : undefined;
    const errand = this.workers.errand(redeliver);
    if (!errand) return;
    const row = this.table.find(ref);
    if (row?.state !== 'pending' || (generation !== null && row.generation !== generation)) return;
    const pausedUntil = this.around.isPausedUntil();
    if (pausedUntil > this.around.agenda.nowMs) return this.wakeUps.armSweep(row, pausedUntil);
    if (row.nextAttemptAt > this.around.agenda.nowMs && !this.firesEarly(row, cause)) {
      if (cause === 'message') this.wakeUps.hold(row);
      return;
    }
    if (this.diesBefore(errand, 'the first transaction')) return;
    this.settle(row, this.dueOf(row, cause), errand);
  }

  private firesEarly({ lease }: TimeoutRow, cause: TimeoutCause): boolean {
    return lease === null && cause === 'message' && this.around.random.chance(this.around.messages.early);
  }

  private settle(row: TimeoutRow, due: DueTimeout, errand: Errand): void {
    const { random, trace, agenda } = this.around;
    const said = this.heard(this.handlerOf(row).settle(due));
    if (due.answer !== undefined) this.around.written(due.answer);
    const outcome = resolveOutcome(said, { attempts: row.attempts, maxAttempts: MAX_ATTEMPTS, random: random.next() });
    trace.note(() => `${errand.name} (${due.cause}) ${row.kind}${due.answer ? ', answered' : ''} -> ${tell(outcome)}`);
    if (outcome.type === 'look-up') this.ask(row, due, errand);
    else this.record(row, outcome);
    if (outcome.type !== 'look-up' && random.chance(this.around.crashes)) {
      agenda.after(0, () => errand.crash('after the commit, before the ack'));
    }
  }

  private heard(said: TimeoutOutcome): TimeoutOutcome {
    if (said.type !== 'retry' || said.answers !== 'clear' || this.around.forgetsUnclear) return said;
    return { ...said, answers: undefined };
  }

  private record(row: TimeoutRow, outcome: Exclude<ResolvedOutcome, { type: 'look-up' }>): void {
    // The effect may have called off or moved its own timeout; then there is nothing left to write.
    if (this.table.find(row) !== row) return;
    row.lease = null;
    switch (outcome.type) {
      case 'done':
        return this.table.remove(row);
      case 'retry':
        row.attempts = outcome.attempts;
        row.lastError = outcome.reason;
        if (outcome.answers) this.table.answered(row, outcome.answers, this.around.agenda.nowMs);
        row.nextAttemptAt = this.around.agenda.nowMs + outcome.afterMs;
        return this.wakeUps.announce(row);
      case 'reschedule':
        Object.assign(row, { dueAt: outcome.dueAt.getTime(), nextAttemptAt: outcome.dueAt.getTime(), attempts: 0 });
        row.askedSince = null;
        return this.wakeUps.announce(row);
      case 'park':
        Object.assign(row, { state: 'parked', attempts: outcome.attempts, lastError: outcome.reason });
    }
  }

  private ask(row: TimeoutRow, due: DueTimeout, errand: Errand): void {
    const { agenda } = this.around;
    const lease = this.table.lease(row, agenda.nowMs, agenda.nowMs + LEASE_MS);
    this.wakeUps.armSweep(row, row.nextAttemptAt);
    if (this.diesBefore(errand, 'asking')) return;
    let isOpen = true;
    errand.after(ASK_MS, () => {
      if (isOpen) this.fail(row, lease);
      isOpen = false;
    });
    this.handlerOf(row).ask(due, errand, (answer) => {
      if (!isOpen) return;
      isOpen = false;
      if (this.diesBefore(errand, 'writing the answer')) return;
      // Now and then a worker stands still for longer than its lease.
      const pauseMs = this.around.random.chance(0.02) ? this.around.random.between(1_000, 40_000) : 3;
      errand.after(pauseMs, () => {
        if (this.holds(row, lease)) this.settle(row, { ...this.dueOf(row, due.cause), answer }, errand);
      });
    });
  }

  private fail(row: TimeoutRow, lease: number): void {
    if (!this.holds(row, lease)) return;
    const budget = { attempts: row.attempts, maxAttempts: MAX_ATTEMPTS, random: this.around.random.next() };
    const outcome = resolveOutcome({ type: 'retry', counted: true, reason: 'lookUp() did not end' }, budget);
    if (outcome.type !== 'look-up') this.record(row, outcome);
  }

  /** The lease is a token: it fences off an overtaken worker, however long it stood still. */
  private holds(row: TimeoutRow, lease: number): boolean {
    return this.table.find(row) === row && row.state === 'pending' && row.lease === lease;
  }

  private diesBefore(errand: Errand, what: string): boolean {
    if (!this.around.random.chance(this.around.crashes)) return false;
    errand.crash(`before ${what}`);
    return true;
  }

  private dueOf(row: TimeoutRow, cause: TimeoutCause): DueTimeout {
    const { kind, key, generation, dueAt, attempts, payload, askedSince } = row;
    const asked = askedSince === null || !this.around.countsFromLookUp ? {} : { askedSince: new Date(askedSince) };
    return { kind, key, generation: String(generation), dueAt: new Date(dueAt), attempts, payload, cause, ...asked };
  }

  private handlerOf({ kind }: TimeoutRef): ModelHandler {
    const handler = this.handlers.get(kind);
    if (!handler) throw new Error(`nobody handles ${kind}`);
    return handler;
  }
}

function tell(outcome: ResolvedOutcome): string {
  switch (outcome.type) {
    case 'retry':
      return `retry in ${outcome.afterMs} ms (attempt ${outcome.attempts}): ${outcome.reason}`;
    case 'park':
      return `parked: ${outcome.reason}`;
    case 'reschedule':
      return `rescheduled to ${outcome.dueAt.toISOString()}`;
    default:
      return outcome.type;
  }
}
