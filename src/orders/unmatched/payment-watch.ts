import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import {
  type ScheduleTimeout,
  TimeoutScheduler,
  DONE,
  type DueTimeout,
  type TimeoutOutcome,
  LOOK_UP,
  type TimeoutHandlerBatch,
  TimeoutHandler,
} from '../../timeouts';
import { type LockedOrder, isUndecided, hasRegistered, isSettledReport, type PaymentAttempt } from '../model/order';
import { OrderPolicies } from '../model/order-policies';
import { busyOutcome, OWN_LIMITS, ORDER_LATE_WATCH } from '../model/order-timeouts';
import {
  type AttemptFinding,
  shortestOf,
  type Wait,
  waitedMs,
  waitForFinding,
  attemptWrites,
  withFindings,
  type Asked,
} from '../model/findings';
import { PaymentLookups } from '../lookup/payment-lookups';
import { OrderStore } from '../sql/order-store';
import { type LockedBatch } from '../sql/lock-orders';
import { causeOf } from '../model/transition';
import { HandleUnmatched } from './handle-unmatched';
import { NoteUnmatchedMoney } from './note-unmatched-money';

@Injectable()
export class PaymentWatch {
  constructor(
    private readonly scheduler: TimeoutScheduler,
    private readonly policies: OrderPolicies,
  ) {}

  /** Schedules the first look-up for each of these orders that has a closed attempt, in the caller's transaction. */
  async begin(tx: EntityManager, orders: readonly LockedOrder[], now: Date, traceparent?: string): Promise<void> {
    const trace = traceparent === undefined ? {} : { traceparent };
    const rounds = orders.flatMap((order) => this.firstRound(order, now)).map((round) => ({ ...round, ...trace }));
    await this.scheduler.schedule(rounds, { tx });
  }

  /**
   * Starts over with `order`, whose last round has closed an attempt: what the buyer had begun may still arrive. Only once,
   * or an attempt that no close ends would be looked up for ever, and its order never be erased.
   *
   * @param planned what the last round would do otherwise. A sooner look-up stays.
   */
  async beginAnew(tx: EntityManager, order: LockedOrder, planned: TimeoutOutcome, now: Date): Promise<void> {
    await this.scheduler.schedule(this.firstRound(order, now, planned), { tx });
  }

  private firstRound(order: LockedOrder, now: Date, planned?: TimeoutOutcome): ScheduleTimeout[] {
    if (isUndecided(order.status) || !order.attempts.some(isWatched)) return [];
    const first = firstRoundAt(now, this.policies.of(order.merchantId).lateWatchOffsetsMs, planned);
    return first ? [{ kind: ORDER_LATE_WATCH, key: order.id, ...first }] : [];
  }
}

/** Longer than the lag of a provider's read replica. After this time, its answer is trusted. */
const DOUBT_MS = 60_000;

/**
 * Whether money could still arrive through this attempt, although it counts as closed. Not through what a person has
 * assigned and settled: it was a transfer, and no attempt.
 */
export function isWatched(attempt: PaymentAttempt): boolean {
  return attempt.status === 'CLOSED' || (isSettledReport(attempt) && hasRegistered(attempt));
}

/** Pure: returns the first time of the watch after `now`. Undefined: the watch has ended. */
export function nextWatchAt(since: Date, offsetsMs: readonly number[], now: Date): Date | undefined {
  const moments = offsetsMs.map((ms) => since.getTime() + ms).filter((ms) => ms > now.getTime());
  return moments.length === 0 ? undefined : new Date(moments.reduce((first, next) => Math.min(first, next)));
}

/** Pure: the first round of a watch that begins now. In one that begins anew, a sooner look-up that was planned stays. */
export function firstRoundAt(
  now: Date,
  offsetsMs: readonly number[],
  planned?: TimeoutOutcome,
): Required<Pick<ScheduleTimeout, 'dueAt' | 'payload'>> | undefined {
  const first = nextWatchAt(now, offsetsMs, now);
  if (!first) return undefined;
  const soonest = planned?.type === 'retry' ? now.getTime() + (planned.afterMs ?? 0) : Infinity;
  return {
    dueAt: new Date(Math.min(first.getTime(), soonest)),
    payload: { since: now.toISOString(), ...(planned && { isAnew: true }) },
  };
}

/** A round of a watch since `since`, about whose answer is decided now. */
interface Decided {
  readonly since: Date;
  readonly now: Date;
  readonly due: Asked;
  readonly offsetsMs: readonly number[];
}

/**
 * Pure: decides when to look up again. CLOSED ends this round, and anything unclear is looked up again soon. So is "not
 * known" for a minute: the provider has closed this attempt before, so one of its answers is wrong, and no round
 * follows the last one.
 */
export function planWatch(findings: readonly AttemptFinding[], decided: Decided): TimeoutOutcome {
  const { due, now } = decided;
  const next = nextRoundAt(decided);
  const wait = shortestWait(findings, now, waitedMs(due, now));
  const isSooner = wait !== undefined && (!next || now.getTime() + (wait.afterMs ?? 0) < next.getTime());
  // A counted retry may park the watch, so count only in its last round.
  if (isSooner && !(wait.counted && next)) return { type: 'retry', ...wait };
  return next ? { type: 'reschedule', dueAt: next } : DONE;
}

/** An answer is written at most this long after its provider gave it. */
const ANSWER_AGE_MS = 60_000;

/** A round that became due while this one's answer was on its way is yet to come, at once. Older ones are part of this one. */
function nextRoundAt({ since, now, due, offsetsMs }: Decided): Date | undefined {
  return nextWatchAt(since, offsetsMs, new Date(Math.max(due.dueAt.getTime(), now.getTime() - ANSWER_AGE_MS)));
}

/**
 * Pure: whether this is the last round, and it found an attempt open that it has closed, or may have: then no round is left that
 * would find what the buyer had begun. Not in a watch that began anew.
 */
export function mustBeginAnew(
  findings: readonly AttemptFinding[],
  decided: Decided & { readonly due: Pick<Due, 'payload'> },
): boolean {
  const wasOpen = ({ finding }: AttemptFinding): boolean =>
    (finding.type === 'CLOSED' && finding.wasOpen === true) ||
    (finding.type === 'UNKNOWN' && finding.isKnownThere === true);
  return !nextRoundAt(decided) && decided.due.payload['isAnew'] !== true && findings.some(wasOpen);
}

function shortestWait(findings: readonly AttemptFinding[], now: Date, askedMs: number): Wait | undefined {
  const waits = findings.flatMap(({ provider, reference, finding }) => {
    if (finding.type === 'PAID' || finding.type === 'CLOSED') return [];
    if (finding.type === 'NOT_FOUND_YET' && askedMs >= DOUBT_MS) return [];
    const wait = waitForFinding(finding, askedMs, now);
    return [{ ...wait, reason: `${provider} ${reference}: ${wait.reason}` }];
  });
  return shortestOf(waits);
}

type Due = DueTimeout<AttemptFinding[]>;

/** A due timeout, and its order before and after the findings. No order: it was deleted, or is locked. */
interface Round {
  readonly due: Due;
  readonly before: LockedOrder | undefined;
  readonly after: LockedOrder | undefined;
  readonly findings: readonly AttemptFinding[];
}

/**
 * Watches ended orders: looks up their closed attempts again, at the offsets of the policy, because notifications get
 * lost and a close may have been confirmed too early. A payment that is found is handled like every late payment. An
 * attempt that is open again is closed again. Few concurrent calls, because deadlines come first.
 */
@TimeoutHandler(ORDER_LATE_WATCH, { lookUpConcurrency: 8, concurrency: 1, ...OWN_LIMITS })
export class WatchEndedOrders implements TimeoutHandlerBatch<AttemptFinding[]> {
  constructor(
    private readonly store: OrderStore,
    private readonly lookups: PaymentLookups,
    private readonly policies: OrderPolicies,
    private readonly unmatched: HandleUnmatched,
    private readonly found: NoteUnmatchedMoney,
    private readonly watch: PaymentWatch,
  ) {}

  async handleBatch(due: readonly Due[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    const { store, unmatched, found } = this;
    const ids = due.map((timeout) => timeout.key);
    const batch = await store.lock(tx, ids, 'skip-locked');
    const left = await found.withoutTaken(due, batch, tx);
    const rounds = due.map((timeout) => roundOf(timeout, batch, left.get(timeout.key)));
    const changed = rounds.flatMap(({ before, after, findings }) =>
      before && after ? attemptWrites(before, after, findings) : [],
    );
    await store.writeAttempts(tx, changed);
    const asked = rounds.flatMap(({ after, findings }) => (after ? [{ after, findings }] : []));
    const [first] = due;
    if (first) await found.execute(asked, batch.orders, { tx, by: causeOf(first), now: batch.now });
    const orders = asked.map(({ after }) => after);
    await unmatched.lockStock(tx, orders);
    const outcomes: TimeoutOutcome[] = [];
    for (const round of rounds) outcomes.push(await this.settleOne(round, batch, tx));
    return outcomes;
  }

  async lookUp(due: DueTimeout, signal: AbortSignal): Promise<AttemptFinding[]> {
    const { now, attempts } = await this.store.attemptsOf(due.key, isWatched);
    return this.lookups.close(attempts, now, signal);
  }

  private async settleOne(
    { due, before, after, findings }: Round,
    { busy, now }: LockedBatch,
    tx: EntityManager,
  ): Promise<TimeoutOutcome> {
    if (!before) return busy.has(due.key) ? busyOutcome(due, now) : DONE;
    if (isUndecided(before.status)) return DONE;
    if (!due.answer || !after) return before.attempts.some(isWatched) ? LOOK_UP : DONE;
    const offsetsMs = this.policies.of(before.merchantId).lateWatchOffsetsMs;
    const decided = { since: sinceOf(due), now, due, offsetsMs };
    const outcome = planWatch(findings, decided);
    await this.unmatched.execute(after, { tx, now, by: causeOf(due), isAsking: outcome.type === 'retry' });
    if (!mustBeginAnew(findings, decided)) return outcome;
    await this.watch.beginAnew(tx, after, outcome, now);
    return DONE;
  }
}

function roundOf(due: Due, { orders }: LockedBatch, findings: readonly AttemptFinding[] | undefined): Round {
  const before = orders.get(due.key);
  return { due, before, findings: findings ?? [], after: before && findings && withFindings(before, findings) };
}

/** When the order ended, as stored in the timeout when it was scheduled. */
function sinceOf({ payload, dueAt }: Due): Date {
  const since = new Date(String(payload.since));
  return Number.isNaN(since.getTime()) ? dueAt : since;
}
