import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { type ScheduleTimeout, TimeoutScheduler, DONE, type DueTimeout, type TimeoutOutcome } from '../../timeouts';
import { type LockedOrder, isUndecided, isSettledReport, type PaymentAttempt } from '../model/order';
import { OrderPolicies } from '../model/order-policies';
import { ORDER_LATE_WATCH } from '../model/order-timeouts';
import { type AttemptFinding, shortestOf, type Wait, waitedMs, waitForFinding } from '../model/findings';

/** Starts the payment watch of ended orders. */
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

  private firstRound(order: LockedOrder, now: Date): ScheduleTimeout[] {
    if (isUndecided(order.status) || !order.attempts.some(isWatched)) return [];
    const dueAt = nextWatchAt(now, this.policies.of(order.merchantId).lateWatchOffsetsMs, now);
    return dueAt ? [{ kind: ORDER_LATE_WATCH, key: order.id, dueAt, payload: { since: now.toISOString() } }] : [];
  }
}

type Asked = Pick<DueTimeout, 'askedSince' | 'dueAt'>;

/** Longer than the lag of a provider's read replica. After this time, its answer is trusted. */
const DOUBT_MS = 60_000;

/** Whether money could still arrive through this attempt, although it counts as closed. */
export function isWatched(attempt: PaymentAttempt): boolean {
  return attempt.status === 'CLOSED' || isSettledReport(attempt);
}

/** Pure: returns the first time of the watch after `now`. Undefined: the watch has ended. */
export function nextWatchAt(since: Date, offsetsMs: readonly number[], now: Date): Date | undefined {
  const moments = offsetsMs.map((ms) => since.getTime() + ms).filter((ms) => ms > now.getTime());
  return moments.length === 0 ? undefined : new Date(moments.reduce((first, next) => Math.min(first, next)));
}

/**
 * Pure: decides when to look up again. CLOSED ends this round, and anything unclear is looked up again soon. So is "not
 * known" for a minute: the provider has closed this attempt before, so one of its answers is wrong, and no round
 * follows the last one.
 */
export function planWatch(
  findings: readonly AttemptFinding[],
  { since, now, due, offsetsMs }: { since: Date; now: Date; due: Asked; offsetsMs: readonly number[] },
): TimeoutOutcome {
  const next = nextWatchAt(since, offsetsMs, now);
  const wait = shortestWait(findings, now, waitedMs(due, now));
  const isSooner = wait !== undefined && (!next || now.getTime() + (wait.afterMs ?? 0) < next.getTime());
  // A counted retry may park the watch, so count only in its last round.
  if (isSooner && !(wait.counted && next)) return { type: 'retry', ...wait };
  return next ? { type: 'reschedule', dueAt: next } : DONE;
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
