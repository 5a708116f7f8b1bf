import { Logger } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { type Clock, PollingLoop } from '../clock';
import { type ConfirmedPublisher, type Publication, type PublishOutcome } from '../rabbit';
import { type OutboxRoute } from './outbox-entry';
import { type ClaimedRow, OutboxClaims } from './outbox-claims';
import { onAnnouncedCommit } from './commit-announcer';

/** Turns a claimed row into a message. `remainingMs`: what is left until due, zero or less for at once. */
export type OutboxRouter = (row: ClaimedRow, remainingMs: number) => Publication;

/** Which routes can be served at this moment; a route without a router keeps its rows in the table. */
export type OutboxRouters = Partial<Record<OutboxRoute, OutboxRouter>>;

interface RelayPlan {
  readonly dataSource: DataSource;
  readonly publisher: ConfirmedPublisher;
  readonly schema: string;
  routers(): OutboxRouters;
  /** Counts what was published, for metrics. */
  published?(count: number): void;
}

const BATCH = 500;
/** Longer than the publisher's confirm time-out, or a slow broker would get every message twice. */
const LEASE_MS = 30_000;
const POLL_MS = 500;
const RETRY_MS = 1_000;

/** Publishes outbox rows: claim with a lease → publish pipelined → delete by the claimed ids after the confirms. */
export class OutboxRelay {
  private readonly logger = new Logger(OutboxRelay.name);
  private readonly claims: OutboxClaims;
  private readonly loop: PollingLoop;
  private unsubscribe: (() => void) | undefined;

  constructor(
    private readonly plan: RelayPlan,
    private readonly clock: Clock,
  ) {
    this.claims = new OutboxClaims(plan.schema);
    this.loop = new PollingLoop(clock, {
      name: 'outbox-relay',
      runOnce: async () => (await this.runOnce()) >= BATCH,
      intervalMs: () => POLL_MS,
    });
  }

  start(): void {
    this.unsubscribe = onAnnouncedCommit(this.plan.dataSource, () => this.loop.wake());
    this.loop.start();
  }

  wake(): void {
    this.loop.wake();
  }

  async stop(): Promise<void> {
    this.unsubscribe?.();
    await this.loop.stop();
  }

  /** Publishes at most one batch and returns how many rows it took. */
  async runOnce(): Promise<number> {
    const routers = this.plan.routers();
    const routes = Object.keys(routers) as OutboxRoute[];
    if (!this.plan.publisher.isReady || routes.length === 0) return 0;
    const rows = await this.claims.claim(this.plan.dataSource, routes, BATCH, LEASE_MS);
    if (rows.length === 0) return 0;
    const outcomes = await this.publish(rows, routers);
    await this.finish(rows, outcomes);
    return rows.length;
  }

  private publish(rows: readonly ClaimedRow[], routers: OutboxRouters): Promise<PublishOutcome[]> {
    const claimedAt = this.clock.monotonic();
    return this.plan.publisher.publish(
      rows.map((row) => {
        const router = routers[row.route];
        if (!router) throw new Error(`no router for outbox route "${row.route}"`);
        return router(row, (row.remaining_ms ?? 0) - (this.clock.monotonic() - claimedAt));
      }),
    );
  }

  private async finish(rows: readonly ClaimedRow[], outcomes: readonly PublishOutcome[]): Promise<void> {
    const idsWhere = (isWanted: (outcome: PublishOutcome | undefined) => boolean): string[] =>
      rows.filter((_, index) => isWanted(outcomes[index])).map((row) => row.id);
    const confirmed = idsWhere((outcome) => outcome === 'confirmed');
    const failed = idsWhere((outcome) => outcome !== 'confirmed');
    await this.claims.delete(this.plan.dataSource, confirmed);
    await this.claims.release(this.plan.dataSource, failed, RETRY_MS);
    this.plan.published?.(confirmed.length);
    const unroutable = idsWhere((outcome) => outcome === 'returned');
    if (unroutable.length > 0) this.logger.error(`${unroutable.length} messages had no queue to go to; trying again`);
  }
}
