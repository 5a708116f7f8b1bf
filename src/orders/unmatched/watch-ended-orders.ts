import { type EntityManager } from 'typeorm';
import {
  LOOK_UP,
  DONE,
  type DueTimeout,
  type TimeoutHandlerBatch,
  type TimeoutOutcome,
  TimeoutHandler,
} from '../../timeouts';
import { PaymentLookups } from '../lookup/payment-lookups';
import { type AttemptFinding, attemptWrites, withFindings } from '../model/findings';
import { busyOutcome, ORDER_LATE_WATCH, OWN_LIMITS } from '../model/order-timeouts';
import { type LockedOrder, isUndecided } from '../model/order';
import { OrderPolicies } from '../model/order-policies';
import { OrderStore } from '../sql/order-store';
import { type LockedBatch } from '../sql/lock-orders';
import { type ActionContext } from '../model/transition';
import { HandleUnmatched } from './handle-unmatched';
import { NoteUnmatchedMoney } from './note-unmatched-money';
import { isWatched, planWatch } from './payment-watch';

type Due = DueTimeout<AttemptFinding[]>;

/**
 * One due timeout, and its order before and after the findings. No order: it was deleted, or another transaction has
 * locked it.
 */
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
  ) {}

  async handleBatch(due: readonly Due[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    const { store, unmatched, found } = this;
    const ids = due.map((timeout) => timeout.key);
    const batch = await store.lock(tx, ids, 'skip-locked');
    const left = await found.withoutTaken(due, batch, tx);
    const rounds = due.map((timeout) => roundOf(timeout, batch, left.get(timeout.key)));
    await store.writeAttempts(
      tx,
      rounds.flatMap(({ before, after, findings }) => (before && after ? attemptWrites(before, after, findings) : [])),
    );
    const asked = rounds.flatMap(({ after, findings }) => (after ? [{ after, findings }] : []));
    const [first] = due;
    if (first) await found.execute(asked, batch.orders, { tx, by: causeOf(first), now: batch.now });
    await unmatched.lockStock(
      asked.map(({ after }) => after),
      { tx },
    );
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
    const outcome = planWatch(findings, { since: sinceOf(due), now, due, offsetsMs });
    await this.unmatched.execute(after, { tx, now, by: causeOf(due), isAsking: outcome.type === 'retry' });
    return outcome;
  }
}

function roundOf(due: Due, { orders }: LockedBatch, findings: readonly AttemptFinding[] | undefined): Round {
  const before = orders.get(due.key);
  return { due, before, findings: findings ?? [], after: before && findings && withFindings(before, findings) };
}

function causeOf({ cause, traceparent }: Due): ActionContext {
  return { cause, traceparent };
}

/** When the order ended, as stored in the timeout when it was scheduled. */
function sinceOf({ payload, dueAt }: Due): Date {
  const since = new Date(String(payload.since));
  return Number.isNaN(since.getTime()) ? dueAt : since;
}
