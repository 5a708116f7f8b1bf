import { Logger } from '@nestjs/common';
import { type Clock, Deadline } from '../clock';
import {
  type AnnouncedWakeUp,
  onAnnouncedCommit,
  type Outbox,
  OutboxRelays,
  type OutboxRouter,
  routeEvent,
} from '../outbox';
import { type Channel, type RabbitClient } from '../rabbit';
import { ownQuery, retryWhileUnavailable } from '../database';
import { assertDatabase } from './startup/assert-database';
import { DatabaseClock } from './settling/database-clock';
import { WakeUpConsumer } from './wake-ups/wake-up-consumer';
import { TimeoutProcessor } from './timeout-processor';
import { MessagePath } from './message-path/message-path';
import { type RegisteredHandler } from './handlers/registered-handler';
import { Sweep } from './sweeping/sweep';
import { MissingTimeoutHandlerError } from './timeout-errors';
import { type TimeoutObservers } from './timeout-observer';
import { TimeoutQueries } from './scheduling/timeout-queries';
import { HEAD_START_MS } from './wake-ups/route-wake-up';
import { type ResolvedTimeoutsOptions } from './timeouts-options';
import { type TimeoutCause, type TimeoutRef } from './timeout';

/** Notes of commits are held in the process only when due this soon; the sweep's look-ahead finds the others. */
const SOON_MS = 2_000;

/** Runs the clocks: consumers, sweeps and the relay, in one order up and in the opposite order down. */
export class TimeoutEngine {
  private readonly logger = new Logger(TimeoutEngine.name);
  private readonly databaseClock: DatabaseClock;
  /** How wake-ups come through the broker, and what an operator can do about it. */
  readonly path: MessagePath;
  private readonly relays: OutboxRelays;
  private readonly processors = new Map<string, TimeoutProcessor>();
  private readonly sweeps = new Map<string, Sweep>();
  private readonly consumers: WakeUpConsumer[] = [];
  private handlers: readonly RegisteredHandler[] = [];
  private unsubscribe: (() => void) | undefined;
  private phase: 'new' | 'running' | 'stopping' = 'new';

  constructor(
    private readonly options: ResolvedTimeoutsOptions,
    private readonly client: RabbitClient,
    private readonly outbox: Outbox,
    private readonly observers: TimeoutObservers,
    private readonly clock: Clock,
  ) {
    const { dataSource, schema } = options;
    this.databaseClock = new DatabaseClock(dataSource, clock);
    const isConsumed = (): boolean => this.consumers.every((each) => each.isConsuming);
    const path = { client, options, dataSource, observer: observers, kinds: () => this.kinds, isConsumed };
    this.path = new MessagePath(path, clock);
    const routeOne: OutboxRouter = (row) => routeEvent(client.names, row);
    const lanes = {
      event: { publisher: client.publisher, router: () => routeOne },
      'wake-up': { publisher: client.wakeUpPublisher, router: () => this.path.router },
    };
    this.relays = new OutboxRelays({ dataSource, schema, lanes }, clock);
  }

  /** The kinds that have a handler in this process. */
  get kinds(): readonly string[] {
    return this.handlers.map(({ kind }) => kind);
  }

  /** How timeouts wait; undefined until the broker has answered for the first time. */
  get transport(): string | undefined {
    return this.path.transport;
  }

  /** Wake-ups travel, in time, and arrive by the broker. */
  get isMessagePathUp(): boolean {
    return this.path.state === 'up';
  }

  /** Started, and everything that was overdue at the start has been handled once. */
  get isReady(): boolean {
    return this.phase === 'running' && [...this.sweeps.values()].every((sweep) => sweep.hasCaughtUp);
  }

  register(handlers: readonly RegisteredHandler[]): void {
    this.handlers = handlers;
  }

  /** @throws what assertDatabase throws, or MissingTimeoutHandlerError when the database holds timeouts that nobody here would handle. */
  async start(): Promise<void> {
    if (this.options.isDormant) return;
    // First what can refuse the start, so that a refusal leaves nothing running.
    await retryWhileUnavailable(this.clock, () => assertDatabase(this.options));
    if (this.options.consume) await retryWhileUnavailable(this.clock, () => this.refuseMissingHandlers());
    await retryWhileUnavailable(this.clock, () => this.databaseClock.start());
    if (this.options.consume) for (const handler of this.handlers) this.work(handler, this.writesWakeUps);
    this.client.start();
    this.relays.start();
    this.path.start();
    this.unsubscribe = onAnnouncedCommit(this.options.dataSource, (wakeUps) => this.noted(wakeUps));
    for (const sweep of this.sweeps.values()) sweep.start();
    this.phase = 'running';
    this.logger.log(`started for ${this.kinds.join(', ') || 'scheduling only'}`);
  }

  /** Handles these now if they are due, in this process; for reads and operators. */
  wake(refs: readonly TimeoutRef[], cause: TimeoutCause): void {
    if (this.phase !== 'running') return;
    const dueAtMs = this.databaseClock.nowMs();
    for (const { kind, key } of refs) {
      this.processors.get(kind)?.add({ wakeUp: { key, generation: null, dueAtMs, cause }, finish: () => undefined });
    }
  }

  /**
   * Handles what is overdue once, in a process whose engine does not run: no broker, no relay. Running processes may be
   * beside it. Returns the number of overdue timeouts that were taken, by kind.
   *
   * @internal
   */
  async sweepOnce(signal?: AbortSignal): Promise<ReadonlyMap<string, number>> {
    if (this.phase !== 'new') throw new Error('the engine runs, and sweeps by itself');
    await this.databaseClock.start();
    try {
      for (const handler of this.handlers) this.work(handler, false);
      const runs = [...this.sweeps].map(async ([kind, sweep]) => [kind, await sweep.runToEnd(signal)] as const);
      const swept = await Promise.all(runs);
      await Promise.all([...this.processors.values()].map((processor) => processor.whenIdle()));
      return new Map(swept);
    } finally {
      await this.databaseClock.stop();
    }
  }

  /**
   * No new work, then the work in progress, then the messages it led to, then the connections. All within
   * `shutdownTimeoutMs`, and two seconds more when the broker does not answer.
   */
  async stop(): Promise<void> {
    if (this.phase !== 'running') return;
    this.phase = 'stopping';
    const limit = new Deadline(this.clock, this.options.shutdownTimeoutMs);
    this.unsubscribe?.();
    await limit.within<unknown>(this.client.stopConsuming(), undefined);
    await limit.within<unknown>(Promise.all([...this.sweeps.values()].map((sweep) => sweep.stop())), undefined);
    await Promise.all([...this.processors.values()].map((processor) => processor.close(limit.left())));
    const given = await this.client.drain(limit.left());
    // Each may wait for a statement of a database that does not answer any more.
    await limit.within<unknown>(Promise.all([this.path.stop(), this.relays.stop()]), undefined);
    const relayed = await limit.within(this.relays.runOnce(), 0);
    await this.client.close(limit.left());
    await limit.within<unknown>(this.relays.finishLate(), undefined);
    await limit.within<unknown>(this.databaseClock.stop(), undefined);
    this.logger.log(`stopped: ${given} deliveries requeued, ${relayed} last messages published`);
  }

  private work(handler: RegisteredHandler, consumes: boolean): void {
    const { dataSource, schema, sweep: options, ladder } = this.options;
    const { outbox, databaseClock, observers: observer, writesWakeUps } = this;
    // Longer than the ladder's unit and the head start: a wake-up that is less early would be redelivered without a delay.
    const longestHoldMs = Math.max(2_000, 2 * (ladder.unitMs ?? 0) + HEAD_START_MS);
    const shared = { dataSource, schema, outbox, writesWakeUps, databaseClock, observer, longestHoldMs };
    const processor = new TimeoutProcessor(handler, shared, this.clock);
    const { kind } = processor;
    const { concurrency, prefetch } = handler.options;
    const upcomingSql = new TimeoutQueries(schema).upcoming;
    const watched = { isClock: () => !this.isMessagePathUp, missed: this.path.missed.bind(this.path, kind) };
    const sweep = { processor, dataSource, upcomingSql, options, observer, concurrency, ...watched };
    this.processors.set(kind, processor);
    this.sweeps.set(kind, new Sweep(sweep, this.clock));
    if (consumes) this.consume(processor, prefetch);
  }

  private get writesWakeUps(): boolean {
    return this.options.transport !== 'none';
  }

  private consume(processor: TimeoutProcessor, prefetch: number): void {
    const { client, observers } = this;
    const { dataSource } = this.options;
    const bind = (channel: Channel, queue: string): Promise<void> => this.path.bind(channel, processor.kind, queue);
    const deps = { client, processor, prefetch, observers, bind, dataSource };
    this.consumers.push(new WakeUpConsumer(deps, this.clock));
  }

  /** Without a message path a timeout that was just scheduled, and is due soon, would wait for the next tick. */
  private noted(wakeUps: readonly AnnouncedWakeUp[]): void {
    if (wakeUps.length === 0 || this.isMessagePathUp) return;
    const soon = this.databaseClock.nowMs() + SOON_MS;
    for (const { kind, key, generation, dueAtMs } of wakeUps) {
      if (dueAtMs <= soon) this.sweeps.get(kind)?.take(key, generation, dueAtMs);
    }
  }

  private async refuseMissingHandlers(): Promise<void> {
    const { dataSource, schema } = this.options;
    const rows = await ownQuery<{ kind: string }[]>(dataSource, new TimeoutQueries(schema).kinds);
    const missing = rows.map(({ kind }) => kind).filter((kind) => !this.kinds.includes(kind));
    if (missing.length > 0) throw new MissingTimeoutHandlerError(missing);
  }
}
