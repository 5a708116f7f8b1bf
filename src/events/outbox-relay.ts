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
/** A lease is longer than publishing may take by so much, or a slow broker would get every message twice. */
const LEASE_MARGIN_MS = 10_000;
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

  /** Publishes at most one batch and returns how many of its messages were confirmed. */
  async runOnce(): Promise<number> {
    const routers = this.plan.routers();
    const routes = Object.keys(routers) as OutboxRoute[];
    if (!this.plan.publisher.isReady || routes.length === 0) return 0;
    const rows = await this.claims.claim(this.plan.dataSource, routes, BATCH, this.leaseMs);
    if (rows.length === 0) return 0;
    const routed = this.route(rows, routers);
    const outcomes = await this.plan.publisher.publish(routed.map(({ publication }) => publication));
    return this.finish(rows, new Map(routed.map(({ row }, index) => [row.id, outcomes[index]])));
  }

  private get leaseMs(): number {
    return this.plan.publisher.longestMs(BATCH) + LEASE_MARGIN_MS;
  }

  /** A row that cannot be made a message is left out, and tried again: it must not keep the others. */
  private route(
    rows: readonly ClaimedRow[],
    routers: OutboxRouters,
  ): { readonly row: ClaimedRow; readonly publication: Publication }[] {
    const claimedAt = this.clock.monotonic();
    return rows.flatMap((row) => {
      try {
        const remainingMs = (row.remaining_ms ?? 0) - (this.clock.monotonic() - claimedAt);
        const publication = routers[row.route]?.(row, remainingMs);
        return publication ? [{ row, publication }] : [];
      } catch (error) {
        this.logger.error(`outbox row ${row.id} cannot be published: ${String(error)}`);
        return [];
      }
    });
  }

  private async finish(
    rows: readonly ClaimedRow[],
    outcomes: ReadonlyMap<string, PublishOutcome | undefined>,
  ): Promise<number> {
    const idsWhere = (isWanted: (outcome: PublishOutcome | undefined) => boolean): string[] =>
      rows.filter(({ id }) => isWanted(outcomes.get(id))).map((row) => row.id);
    const confirmed = idsWhere((outcome) => outcome === 'confirmed');
    const failed = idsWhere((outcome) => outcome !== 'confirmed');
    await this.claims.delete(this.plan.dataSource, confirmed);
    await this.claims.release(this.plan.dataSource, failed, RETRY_MS);
    this.plan.published?.(confirmed.length);
    const unroutable = idsWhere((outcome) => outcome === 'returned');
    if (unroutable.length > 0) this.logger.error(`${unroutable.length} messages had no queue to go to; trying again`);
    return confirmed.length;
  }
}
