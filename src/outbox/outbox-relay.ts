import { Logger } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { type Clock, PollingLoop } from '../clock';
import { type ConfirmedPublisher, type Publication, type PublishOutcome } from '../rabbit';
import { inSpan, messagingAttributes } from '../tracing';
import { type OutboxRoute, onAnnouncedCommit } from './outbox';
import { type Claim, type ClaimedRow, NOTHING, OutboxClaims, PAUSES_S } from './outbox-claims';
import { LateRows, PublishFailures, SentRows } from './sent-rows';

/** Turns a claimed row into a message. `remainingMs`: what is left until due, zero or less for at once. */
export type OutboxRouter = (row: ClaimedRow, remainingMs: number) => Publication;

interface RelayDependencies {
  readonly dataSource: DataSource;
  readonly publisher: ConfirmedPublisher;
  readonly schema: string;
  readonly route: OutboxRoute;
  /** Undefined while the route cannot be served: its rows stay in the table. */
  router(): OutboxRouter | undefined;
}

const BATCH = 500;

const BATCH_BYTES = 4_000_000;

/** One on its way to the broker, one behind it, one being claimed or deleted; more only costs memory. */
const BATCHES_IN_FLIGHT = 3;

/** Limit for the bodies in flight. One more batch, or one larger body, is claimed beside them. */
const BYTES_IN_FLIGHT = 8_000_000;

/** A lease is longer than publishing may take by so much, or a slow broker would get every message twice. */
const LEASE_MARGIN_MS = 10_000;

const POLL_MS = 500;

/** Busy hosts commit hundreds of times a second, and each batch costs six statements, however few rows there are. */
const GATHER_MS = 20;

/** Confirms, claim and deletion have far shorter limits. Rows that a stuck run has claimed come back when their lease ends. */
const RUN_LIMIT_MS = 120_000;

const FAILURES: readonly (readonly [PublishOutcome, string])[] = [
  ['nacked', 'were refused by the broker, as a queue is full or has no leader; trying again'],
  ['returned', 'had no queue to go to; trying again'],
  ['unknown', 'found no room, or their channel closed before the confirm; trying again'],
];

interface Claimed extends Claim {
  readonly router: OutboxRouter | undefined;
  /** By the monotonic clock. */
  readonly atMs: number;
}

/**
 * Publishes the outbox rows of one route: claim with a lease → publish pipelined → delete by the claimed ids after the
 * confirms. Behind a backlog the next batches are claimed while one waits for its confirms; messages are sent in the order
 * of the claims. A message whose confirm is late leaves its batch and is finished on its own.
 */
export class OutboxRelay {
  private readonly logger: Logger;
  private readonly claims: OutboxClaims;
  private readonly loop: PollingLoop;
  private readonly inFlight = new BatchesInFlight();
  private readonly late: LateRows;
  private readonly failures: PublishFailures;
  private unsubscribe: (() => void) | undefined;

  constructor(
    private readonly deps: RelayDependencies,
    private readonly clock: Clock,
  ) {
    const { dataSource, schema, route } = deps;
    this.logger = new Logger(`OutboxRelay:${route}`);
    this.claims = new OutboxClaims(schema, route, clock);
    this.failures = new PublishFailures(this.logger, clock);
    this.late = new LateRows({ dataSource, claims: this.claims, failures: this.failures }, clock);
    this.loop = new PollingLoop(clock, {
      name: `outbox-relay:${route}`,
      runOnce: () => this.takeTurn(),
      intervalMs: POLL_MS,
      gatherMs: GATHER_MS,
      limitMs: RUN_LIMIT_MS,
    });
  }

  start(): void {
    const { dataSource, route } = this.deps;
    this.unsubscribe = onAnnouncedCommit(dataSource, { relay: { route, loop: this.loop } });
    this.loop.start();
  }

  wake(): void {
    this.loop.wake();
  }

  /** Resolves when only late messages are in flight. */
  async stop(): Promise<void> {
    this.unsubscribe?.();
    await this.loop.stop();
    await this.inFlight
      .untilLeft(0)
      .catch((error: unknown) => this.logger.warn(`the last batch failed: ${String(error)}`));
  }

  /** Writes down what became of late messages when the publisher closed. */
  async finishLate(): Promise<void> {
    await this.late.stop();
  }

  /** Publishes at most one batch and returns how many of its messages were confirmed. */
  async runOnce(): Promise<number> {
    const outcomes = await this.relay(await this.claim());
    return outcomes.filter((outcome) => outcome === 'confirmed').length;
  }

  /**
   * True when there is more to do right now. Only a full batch is not waited for: a commit that comes meanwhile would
   * make a batch of its own, and small batches cost more statements for each message.
   */
  private async takeTurn(): Promise<boolean> {
    const claimed = await this.claim();
    const { rows, isFull } = claimed;
    const bytes = rows.reduce((sum, { body }) => sum + body.length, 0);
    if (rows.length > 0) this.inFlight.add(this.relay(claimed).then(isTaken), bytes);
    const isAccepted = await this.inFlight.untilLeft(isFull ? BATCHES_IN_FLIGHT - 1 : 0, BYTES_IN_FLIGHT);
    return isFull && isAccepted;
  }

  private async claim(): Promise<Claimed> {
    const router = this.deps.router();
    const { publisher, dataSource } = this.deps;
    const limits = { rows: BATCH, bytes: BATCH_BYTES, leaseMs: publisher.longestMs + LEASE_MARGIN_MS };
    const claim = publisher.isReady && router ? await this.claims.claim(dataSource, limits) : NOTHING;
    return { ...claim, router, atMs: this.clock.monotonic() };
  }

  private async relay(claimed: Claimed): Promise<readonly PublishOutcome[]> {
    if (claimed.rows.length === 0) return [];
    const sent = new SentRows(this.late);
    const outcomes = await this.traced(claimed.rows, () =>
      this.deps.publisher.publish(this.publications(claimed, sent), sent),
    );
    return this.finish(sent, outcomes);
  }

  private traced<T>(rows: readonly ClaimedRow[], publish: () => Promise<T>): Promise<T> {
    const { route } = this.deps;
    const attributes = messagingAttributes('send', { count: rows.length });
    const causes = rows.map(({ traceparent }) => traceparent);
    return inSpan(`publish ${route}`, { kind: 'producer', attributes, causes }, publish);
  }

  /** A row that cannot become a message is left out, so that it does not hold up the others. */
  private *publications({ rows, router, atMs }: Claimed, sent: SentRows): Generator<Publication> {
    for (const row of rows) {
      const remainingMs = (row.remaining_ms ?? 0) - (this.clock.monotonic() - atMs);
      try {
        const publication = router?.(row, remainingMs);
        if (!publication) continue;
        sent.add(row);
        yield publication;
      } catch (error) {
        sent.refuse(row, `no message can be made of it: ${String(error)}`);
      }
    }
  }

  private async finish(sent: SentRows, outcomes: readonly PublishOutcome[]): Promise<readonly PublishOutcome[]> {
    const { dataSource } = this.deps;
    for (const [outcome, text] of FAILURES) this.failures.add(text, outcomes.filter((each) => each === outcome).length);
    await this.claims.delete(dataSource, sent.where(outcomes, 'confirmed'));
    await this.claims.release(dataSource, sent.where(outcomes, 'nacked', 'returned'), PAUSES_S.refused);
    await this.claims.release(dataSource, sent.where(outcomes, 'unknown'), PAUSES_S.lost);
    for (const [row, reason] of sent.refusedRows) {
      this.logger.error(`parked the message ${row.id} of "${row.routingKey}": ${reason}`);
      await this.claims.park(dataSource, row, reason);
    }
    return outcomes;
  }
}

/** The broker has everything that can be sent, even if a confirm is late. */
function isTaken(outcomes: readonly PublishOutcome[]): boolean {
  return !outcomes.some((outcome) => outcome === 'nacked' || outcome === 'returned' || outcome === 'unknown');
}

interface RelaysPlan extends Pick<RelayDependencies, 'dataSource' | 'schema'> {
  readonly lanes: Readonly<Record<OutboxRoute, Pick<RelayDependencies, 'publisher' | 'router'>>>;
}

/** A relay for each route, with a publisher of its own, so that neither holds up the other. */
export class OutboxRelays {
  private readonly relays: readonly OutboxRelay[];

  constructor({ dataSource, schema, lanes }: RelaysPlan, clock: Clock) {
    const { event, 'wake-up': wakeUp } = lanes;
    this.relays = [
      new OutboxRelay({ dataSource, schema, route: 'event', ...event }, clock),
      new OutboxRelay({ dataSource, schema, route: 'wake-up', ...wakeUp }, clock),
    ];
  }

  start(): void {
    for (const relay of this.relays) relay.start();
  }

  /** Resolves when only late messages are in flight. */
  async stop(): Promise<void> {
    await Promise.all(this.relays.map((relay) => relay.stop()));
  }

  /** Publishes at most one batch of each route and returns how many messages were confirmed. Never rejects. */
  async runOnce(): Promise<number> {
    const counts = await Promise.all(this.relays.map((relay) => relay.runOnce().catch(() => 0)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Call it after the publishers have closed: writes down what became of late messages. */
  async finishLate(): Promise<void> {
    await Promise.all(this.relays.map((relay) => relay.finishLate()));
  }
}

/** Batches in flight. The error of a failed one is kept for the next caller that waits. */
class BatchesInFlight {
  private readonly open = new Set<Promise<void>>();
  private readonly ended: Promise<boolean>[] = [];
  private bytes = 0;

  /** `batch` tells whether the broker took all of it; it holds so many `bytes` in memory. */
  add(batch: Promise<boolean>, bytes: number): void {
    this.bytes += bytes;
    const ending = batch
      .catch(() => false)
      .then(() => {
        this.open.delete(ending);
        this.bytes -= bytes;
        this.ended.push(batch);
      });
    this.open.add(ending);
  }

  /**
   * Waits until at most `count` batches and `bytes` bytes are left. False if the broker did not take all of a batch that has
   * ended since the last call.
   * @throws what one of them failed with
   */
  async untilLeft(count: number, bytes = Infinity): Promise<boolean> {
    while (this.open.size > count || this.bytes > bytes) await Promise.race(this.open);
    const taken = await Promise.all(this.ended.splice(0));
    return taken.every(Boolean);
  }
}
