import { type DataSource } from 'typeorm';
import { type Logger } from '@nestjs/common';
import { type PublishOutcome, type PublishWatch } from '../rabbit';
import { type Clock, type Timer } from '../clock';
import { type ClaimedRow, type Leased, type OutboxClaims, PAUSES_S } from './outbox-claims';

/** A row under way, without its body: that is with the publisher. */
interface SentRow extends LateRow {
  readonly routingKey: string;
}

/** The rows of one call to the publisher, by their place in it, and those that can never be sent. */
export class SentRows implements PublishWatch {
  /** With the reason. */
  readonly refusedRows = new Map<SentRow, string>();
  private readonly rows: SentRow[] = [];

  constructor(private readonly late: LateRows) {}

  add(row: ClaimedRow): void {
    this.rows.push(sentRow(row));
  }

  refuse(row: ClaimedRow, reason: string): void {
    this.refusedRows.set(sentRow(row), reason);
  }

  where(outcomes: readonly PublishOutcome[], ...wanted: PublishOutcome[]): SentRow[] {
    return this.rows.filter((_, index) => wanted.some((one) => one === outcomes[index]));
  }

  refused(index: number, reason: string): void {
    const row = this.rows[index];
    if (row) this.refusedRows.set(row, reason);
  }

  answered(index: number, outcome: PublishOutcome): void {
    const row = this.rows[index];
    if (row) this.late.answered(row, outcome);
  }

  timedOut(index: number): void {
    const row = this.rows[index];
    if (row) this.late.timedOut(row);
  }
}

function sentRow({ id, lease, routing_key: routingKey }: ClaimedRow): SentRow {
  return { id, lease, routingKey };
}

/** Rows that come within this time share a statement. */
const GATHER_MS = 100;

/**
 * On an open channel the broker still has the message, and confirms it as soon as the queue recovers. Publishing it again
 * would duplicate it, so it is published again only after this time.
 */
const PATIENCE_MS = 60_000;

/** Until then its lease is short and renewed, so that the messages of a process that dies wait for 20 s at most. */
const LEASE_MS = 20_000;

const RENEW_MS = 10_000;

/** A row whose message is late; without its body, because there may be thousands. */
export interface LateRow extends Leased {
  lease: string;
}

interface LateDependencies {
  readonly dataSource: DataSource;
  readonly claims: OutboxClaims;
  readonly failures: PublishFailures;
}

/** Rows of late messages: not claimed again while the broker has the message, and finished when it has answered. */
export class LateRows {
  /** Until when each is waited for, and when its lease is renewed, by the monotonic clock. */
  private readonly overdue = new Map<LateRow, { readonly untilMs: number; renewAtMs: number }>();
  private confirmed: LateRow[] = [];
  private failed: LateRow[] = [];
  private lost: LateRow[] = [];
  private timer: Timer | undefined;
  private renewal: Timer | undefined;
  private isStopped = false;
  /** One group after the other, because extending a row changes its lease. */
  private work: Promise<void> = Promise.resolve();

  constructor(
    private readonly deps: LateDependencies,
    private readonly clock: Clock,
  ) {}

  /** Not confirmed within the time limit, and the broker may still have it. */
  timedOut(row: LateRow): void {
    const nowMs = this.clock.monotonic();
    this.overdue.set(row, { untilMs: nowMs + PATIENCE_MS, renewAtMs: nowMs });
    this.finishSoon();
  }

  answered(row: LateRow, outcome: PublishOutcome): void {
    this.overdue.delete(row);
    if (outcome === 'confirmed') this.confirmed.push(row);
    else (outcome === 'unknown' ? this.lost : this.failed).push(row);
    this.finishSoon();
  }

  /** Resolves when all answers so far are written. Rows that are answered later wait for the end of their lease. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.timer?.cancel();
    this.finish();
    this.renewal?.cancel();
    await this.work;
  }

  private finishSoon(): void {
    if (!this.isStopped) this.timer ??= this.clock.after(GATHER_MS, () => this.finish());
  }

  private finish(): void {
    this.timer = undefined;
    const [overdue, confirmed, failed, lost] = [this.takeUnrenewed(), this.confirmed, this.failed, this.lost];
    [this.confirmed, this.failed, this.lost] = [[], [], []];
    this.work = this.work
      .then(() => this.write(overdue, confirmed, failed, lost))
      // They come again when their lease ends.
      .catch((error: unknown) =>
        this.deps.failures.add(
          `were late, and could not be finished: ${String(error)}`,
          confirmed.length + failed.length + lost.length,
        ),
      );
    this.renewal?.cancel();
    if (this.overdue.size > 0) this.renewal = this.clock.after(RENEW_MS, () => this.finishSoon());
  }

  /** Those whose lease is to be renewed. Those that were waited for long enough are left to the end of their lease. */
  private takeUnrenewed(): LateRow[] {
    const nowMs = this.clock.monotonic();
    const rows: LateRow[] = [];
    for (const [row, wait] of this.overdue) {
      if (wait.untilMs <= nowMs) this.overdue.delete(row);
      if (wait.renewAtMs > nowMs || wait.untilMs <= nowMs) continue;
      wait.renewAtMs = nowMs + RENEW_MS;
      rows.push(row);
    }
    return rows;
  }

  private async write(
    overdue: readonly LateRow[],
    confirmed: LateRow[],
    failed: LateRow[],
    lost: LateRow[],
  ): Promise<void> {
    const { dataSource, claims, failures } = this.deps;
    failures.add(
      'are not confirmed in time, as a queue is sick, or the broker is blocked or hangs; waiting on',
      overdue.length,
    );
    failures.add('were late and then refused; trying again', failed.length);
    failures.add('were late, and their channel closed; trying again', lost.length);
    const leases = new Map((await claims.extend(dataSource, overdue, LEASE_MS)).map(({ id, lease }) => [id, lease]));
    for (const row of overdue) row.lease = leases.get(row.id) ?? row.lease;
    await claims.delete(dataSource, confirmed);
    await claims.release(dataSource, failed, PAUSES_S.refused);
    await claims.release(dataSource, lost, PAUSES_S.lost);
  }
}

/** Interval for each cause, so that a broker that refuses everything does not fill the log. */
const REPEAT_MS = 60_000;

/** Logs messages that were not confirmed: each cause at once, and then once a minute with their number. */
export class PublishFailures {
  private readonly causes = new Map<string, { count: number; saidAt: number }>();

  constructor(
    private readonly logger: Logger,
    private readonly clock: Clock,
  ) {}

  add(what: string, count: number): void {
    if (count === 0) return;
    const now = this.clock.monotonic();
    const cause = this.causes.get(what) ?? { count: 0, saidAt: -Infinity };
    this.causes.set(what, cause);
    cause.count += count;
    if (now - cause.saidAt < REPEAT_MS) return;
    this.logger.warn(`${cause.count} messages ${what}`);
    cause.count = 0;
    cause.saidAt = now;
  }
}
