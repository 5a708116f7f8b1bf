import { type DataSource } from 'typeorm';
import { type Clock, type Timer } from '../clock';
import { type PublishOutcome } from '../rabbit';
import { type Leased, type OutboxClaims } from './outbox-claims';
import { type PublishFailures } from './publish-failures';

/** Rows that come within this time share a statement. */
const GATHER_MS = 100;
/**
 * On an open channel the broker still has the message, and confirms it as soon as the queue recovers. Publishing it again
 * would duplicate it, so it is published again only after this time.
 */
const PATIENCE_MS = 60_000;

/** A row whose message is late; without its body, because there may be thousands. */
export interface LateRow extends Leased {
  lease: string;
}

interface LatePlan {
  readonly dataSource: DataSource;
  readonly claims: OutboxClaims;
  readonly failures: PublishFailures;
}

/** Rows of late messages: not claimed again while the broker has the message, and finished when it has answered. */
export class LateRows {
  private overdue: LateRow[] = [];
  private confirmed: LateRow[] = [];
  private failed: LateRow[] = [];
  private timer: Timer | undefined;
  private isStopped = false;
  /** One group after the other, because extending a row changes its lease. */
  private work: Promise<void> = Promise.resolve();

  constructor(
    private readonly plan: LatePlan,
    private readonly clock: Clock,
  ) {}

  /** Not confirmed within the time limit, and the broker may still have it. */
  timedOut(row: LateRow): void {
    this.overdue.push(row);
    this.finishSoon();
  }

  answered(row: LateRow, outcome: PublishOutcome): void {
    (outcome === 'confirmed' ? this.confirmed : this.failed).push(row);
    this.finishSoon();
  }

  /** Resolves when all answers so far are written. Rows that are answered later wait for the end of their lease. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.timer?.cancel();
    this.finish();
    await this.work;
  }

  private finishSoon(): void {
    if (!this.isStopped) this.timer ??= this.clock.after(GATHER_MS, () => this.finish());
  }

  private finish(): void {
    this.timer = undefined;
    const [overdue, confirmed, failed] = [this.overdue, this.confirmed, this.failed];
    [this.overdue, this.confirmed, this.failed] = [[], [], []];
    this.work = this.work
      .then(() => this.write(overdue, confirmed, failed))
      // They come again when their lease ends.
      .catch((error: unknown) =>
        this.plan.failures.add(
          `were late, and could not be finished: ${String(error)}`,
          confirmed.length + failed.length,
        ),
      );
  }

  private async write(overdue: readonly LateRow[], confirmed: LateRow[], failed: LateRow[]): Promise<void> {
    const { dataSource, claims, failures } = this.plan;
    failures.add('are not confirmed in time, as a queue is sick or the broker hangs; waiting on', overdue.length);
    failures.add('were late and then refused, or their channel closed; trying again', failed.length);
    const leases = new Map((await claims.extend(dataSource, overdue, PATIENCE_MS)).map(({ id, lease }) => [id, lease]));
    for (const row of overdue) row.lease = leases.get(row.id) ?? row.lease;
    await claims.delete(dataSource, confirmed);
    await claims.release(dataSource, failed);
  }
}
