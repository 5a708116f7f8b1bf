import { type DataSource } from 'typeorm';
import { type Clock, type Timer } from '../clock';
import { type PublishOutcome } from '../rabbit';
import { type Leased, type OutboxClaims, PAUSES_S } from './outbox-claims';
import { type PublishFailures } from './publish-failures';

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
    failures.add('are not confirmed in time, as a queue is sick or the broker hangs; waiting on', overdue.length);
    failures.add('were late and then refused; trying again', failed.length);
    failures.add('were late, and their channel closed; trying again', lost.length);
    const leases = new Map((await claims.extend(dataSource, overdue, LEASE_MS)).map(({ id, lease }) => [id, lease]));
    for (const row of overdue) row.lease = leases.get(row.id) ?? row.lease;
    await claims.delete(dataSource, confirmed);
    await claims.release(dataSource, failed, PAUSES_S.refused);
    await claims.release(dataSource, lost, PAUSES_S.lost);
  }
}
