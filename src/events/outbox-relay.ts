import { Logger } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { type Clock, PollingLoop } from '../clock';
import { type ConfirmedPublisher, type Publication, type PublishOutcome } from '../rabbit';
import { type OutboxRoute } from './outbox-entry';
import { BatchesInHand } from './batches-in-hand';
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
/** One on its way to the broker, one behind it, one being claimed or deleted; more only costs memory. */
const BATCHES_IN_HAND = 3;
/** A lease is longer than publishing may take by so much, or a slow broker would get every message twice. */
const LEASE_MARGIN_MS = 10_000;
const POLL_MS = 500;
/** Busy hosts commit hundreds of times a second, and each batch costs six statements, however few rows there are. */
const GATHER_MS = 20;
const RETRY_MS = 1_000;

interface Claimed {
  readonly rows: readonly ClaimedRow[];
  readonly routers: OutboxRouters;
  /** By the monotonic clock. */
  readonly atMs: number;
}

/**
 * Publishes outbox rows: claim with a lease → publish pipelined → delete by the claimed ids after the confirms. Behind
 * a backlog the next batches are claimed while one waits for its confirms; messages are sent in the order of the claims.
 */
export class OutboxRelay {
  private readonly logger = new Logger(OutboxRelay.name);
  private readonly claims: OutboxClaims;
  private readonly loop: PollingLoop;
  private readonly inHand = new BatchesInHand();
  private unsubscribe: (() => void) | undefined;

  constructor(
    private readonly plan: RelayPlan,
    private readonly clock: Clock,
  ) {
    this.claims = new OutboxClaims(plan.schema);
    this.loop = new PollingLoop(clock, {
      name: 'outbox-relay',
      runOnce: () => this.takeTurn(),
      intervalMs: () => POLL_MS,
      gatherMs: GATHER_MS,
    });
  }

  start(): void {
    this.unsubscribe = onAnnouncedCommit(this.plan.dataSource, () => this.loop.wake());
    this.loop.start();
  }

  wake(): void {
    this.loop.wake();
  }

  /** Resolves when nothing of it is in hand. */
  async stop(): Promise<void> {
    this.unsubscribe?.();
    await this.loop.stop();
    await this.inHand
      .untilLeft(0)
      .catch((error: unknown) => this.logger.warn(`the last batch failed: ${String(error)}`));
  }

  /** Publishes at most one batch and returns how many of its messages were confirmed. */
  async runOnce(): Promise<number> {
    return this.relay(await this.claim());
  }

  /**
   * True when there is more to do right now. Only a full batch is not waited for: a commit that comes meanwhile would
   * make a batch of its own, and small batches cost more statements for each message.
   */
  private async takeTurn(): Promise<boolean> {
    const claimed = await this.claim();
    const { length } = claimed.rows;
    const isFull = length >= BATCH;
    if (length > 0) this.inHand.add(this.relay(claimed).then((confirmed) => confirmed === length));
    const isAccepted = await this.inHand.untilLeft(isFull ? BATCHES_IN_HAND - 1 : 0);
    return isFull && isAccepted;
  }

  private async claim(): Promise<Claimed> {
    const routers = this.plan.routers();
    const routes = Object.keys(routers) as OutboxRoute[];
    const { publisher, dataSource } = this.plan;
    const isPossible = publisher.isReady && routes.length > 0;
    const leaseMs = publisher.longestMs + LEASE_MARGIN_MS;
    const rows = isPossible ? await this.claims.claim(dataSource, routes, BATCH, leaseMs) : [];
    return { rows, routers, atMs: this.clock.monotonic() };
  }

  private async relay({ rows, routers, atMs }: Claimed): Promise<number> {
    if (rows.length === 0) return 0;
    const sent: ClaimedRow[] = [];
    const outcomes = await this.plan.publisher.publish(this.publications({ rows, routers, atMs }, sent));
    return this.finish(rows, new Map(sent.map((row, index) => [row.id, outcomes[index]])));
  }

  /** A row that cannot be made a message is left out, and tried again: it must not keep the others. */
  private *publications({ rows, routers, atMs }: Claimed, sent: ClaimedRow[]): Generator<Publication> {
    for (const row of rows) {
      const remainingMs = (row.remaining_ms ?? 0) - (this.clock.monotonic() - atMs);
      const publication = this.route(row, routers, remainingMs);
      if (publication) {
        sent.push(row);
        yield publication;
      }
    }
  }

  private route(row: ClaimedRow, routers: OutboxRouters, remainingMs: number): Publication | undefined {
    try {
      return routers[row.route]?.(row, remainingMs);
    } catch (error) {
      this.logger.error(`outbox row ${row.id} cannot be published: ${String(error)}`);
      return undefined;
    }
  }

  private async finish(
    rows: readonly ClaimedRow[],
    outcomes: ReadonlyMap<string, PublishOutcome | undefined>,
  ): Promise<number> {
    const rowsWhere = (isWanted: (outcome: PublishOutcome | undefined) => boolean): ClaimedRow[] =>
      rows.filter(({ id }) => isWanted(outcomes.get(id)));
    const confirmed = rowsWhere((outcome) => outcome === 'confirmed');
    const failed = rowsWhere((outcome) => outcome !== 'confirmed').map(({ id }) => id);
    await this.claims.delete(this.plan.dataSource, confirmed);
    await this.claims.release(this.plan.dataSource, failed, RETRY_MS);
    this.plan.published?.(confirmed.length);
    const unroutable = rowsWhere((outcome) => outcome === 'returned');
    if (unroutable.length > 0) this.logger.error(`${unroutable.length} messages had no queue to go to; trying again`);
    return confirmed.length;
  }
}
