import { Logger } from '@nestjs/common';
import { type Clock, Deadline } from '../clock';
import { onAnnouncedCommit, type Outbox, OutboxRelays, type OutboxRouter, routeEvent } from '../outbox';
import { type Channel, type RabbitClient } from '../rabbit';
import { retryWhileUnavailable } from '../database';
import { assertDatabase } from './startup/assert-database';
import { refuseMissingHandlers } from './startup/refuse-missing-handlers';
import { DatabaseClock } from './settling/database-clock';
import { Controls } from './controls/controls';
import { WakeUpConsumer } from './wake-ups/wake-up-consumer';
import { type TimeoutProcessor } from './timeout-processor';
import { MessagePath } from './message-path/message-path';
import { type RegisteredHandler } from './handlers/registered-handler';
import { DueRuns } from './sweeping/due-runs';
import { type Sweep } from './sweeping/sweep';
import { takeSoon } from './sweeping/take-soon';
import { DuplicateTimeoutHandlerError } from './timeout-errors';
import { type TimeoutObservers } from './timeout-observer';
import { workOnKind } from './work-on-kind';
import { type ResolvedTimeoutsOptions } from './timeouts-options';
import { type TimeoutCause, type TimeoutRef } from './timeout';

const NO_BROKER =
  'no broker is configured: PostgreSQL alone triggers timeouts, no events are sent to other programs, ' +
  'and no commands are taken over AMQP';

/** Runs the clocks: consumers, sweeps and the relay, in one order up and in the opposite order down. */
export class TimeoutEngine {
  private readonly logger = new Logger(TimeoutEngine.name);
  private readonly databaseClock: DatabaseClock;
  /** How wake-ups come through the broker, and what an operator can do about it. */
  readonly path: MessagePath;
  /** @internal What the test kit drives. */
  readonly dueRuns: DueRuns;
  /** @internal What operators have paused. */
  readonly controls: Controls;
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
    this.controls = new Controls({ dataSource, schema }, clock);
    const isConsumed = (): boolean => this.consumers.every((each) => each.isConsuming);
    const path = { client, options, dataSource, observer: observers, kinds: () => this.kinds, isConsumed };
    this.path = new MessagePath(path, clock);
    const routeOne: OutboxRouter = (row) => routeEvent(client.names, row);
    const lanes = {
      event: { publisher: client.publisher, router: () => routeOne },
      'wake-up': { publisher: client.wakeUpPublisher, router: () => this.path.router },
    };
    this.relays = new OutboxRelays({ dataSource, schema, lanes }, clock);
    this.dueRuns = new DueRuns({ dataSource, schema, processors: this.processors }, clock);
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
    if (this.options.isDrivenByTests) return this.phase === 'running';
    return this.phase === 'running' && [...this.sweeps.values()].every((sweep) => sweep.hasCaughtUp);
  }

  /**
   * Adds handlers. Call it before the start.
   *
   * @throws DuplicateTimeoutHandlerError
   */
  register(handlers: readonly RegisteredHandler[]): void {
    for (const { kind, handler } of handlers) {
      const other = this.handlers.find((one) => one.kind === kind)?.handler;
      if (other) throw new DuplicateTimeoutHandlerError(kind, other.constructor.name, handler.constructor.name);
    }
    this.handlers = [...this.handlers, ...handlers];
  }

  /** @throws what assertDatabase throws, or MissingTimeoutHandlerError when the database holds timeouts that nobody here would handle. */
  async start(): Promise<void> {
    if (this.options.isDormant) return;
    // First what can refuse the start, so that a refusal leaves nothing running.
    await retryWhileUnavailable(this.clock, () => assertDatabase(this.options));
    if (this.options.consume)
      await retryWhileUnavailable(this.clock, () => refuseMissingHandlers(this.options, this.kinds));
    await retryWhileUnavailable(this.clock, () => this.databaseClock.start());
    await retryWhileUnavailable(this.clock, () => this.controls.refresh());
    if (this.options.consume) for (const handler of this.handlers) this.work(handler, this.writesWakeUps);
    if (!this.options.isDrivenByTests) this.run();
    this.phase = 'running';
    this.logger.log(`started for ${this.kinds.join(', ') || 'scheduling only'}`);
  }

  private run(): void {
    if (this.options.hasBroker) this.relays.start();
    else this.logger.warn(NO_BROKER);
    this.client.start();
    this.path.start();
    this.controls.start();
    this.unsubscribe = onAnnouncedCommit(this.options.dataSource, (wakeUps) => {
      if (!this.isMessagePathUp) takeSoon(wakeUps, this.sweeps, this.databaseClock.nowMs());
    });
    for (const sweep of this.sweeps.values()) sweep.start();
  }

  /** Handles these now if they are due, in this process; for reads and operators. */
  wake(refs: readonly TimeoutRef[], cause: TimeoutCause): void {
    if (this.phase !== 'running' || this.options.isDrivenByTests) return;
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
    await this.controls.refresh();
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
    await limit.within<unknown>(Promise.all([this.path.stop(), this.relays.stop(), this.controls.stop()]), undefined);
    const relayed = await limit.within(this.relays.runOnce(), 0);
    await this.client.close(limit.left());
    await limit.within<unknown>(this.relays.finishLate(), undefined);
    await limit.within<unknown>(this.databaseClock.stop(), undefined);
    this.logger.log(`stopped: ${given} deliveries requeued, ${relayed} last messages published`);
  }

  private work(handler: RegisteredHandler, consumes: boolean): void {
    const { options, outbox, databaseClock, observers, path, controls, writesWakeUps, clock } = this;
    const deps = { options, outbox, databaseClock, observers, path, controls, writesWakeUps };
    const { processor, sweep } = workOnKind(handler, deps, clock);
    this.processors.set(handler.kind, processor);
    this.sweeps.set(handler.kind, sweep);
    if (consumes) this.consume(processor, handler.options.prefetch);
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
}
