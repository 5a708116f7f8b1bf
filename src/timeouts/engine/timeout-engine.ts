import { Logger } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { type Clock, Deadline } from '../../clock';
import {
  type AnnouncedWakeUp,
  onAnnouncedCommit,
  type Outbox,
  OutboxRelays,
  type OutboxRouter,
  routeEvent,
} from '../../outbox';
import { type Channel, type RabbitClient } from '../../rabbit';
import { retryWhileUnavailable, ownQuery } from '../../database';
import { assertDatabase, refuseMissingHandlers } from '../startup/assert-database';
import { Controls } from '../controls/controls';
import { MessagePath } from '../message-path/message-path';
import { type RegisteredHandler } from '../handlers/registered-handler';
import { DuplicateTimeoutHandlerError, DueTimeoutLockedError, EndlessTimeoutsError } from '../model/errors';
import { type TimeoutObservers, type TimeoutCause, type TimeoutRef, HEAD_START_MS } from '../model/timeout';
import { type ResolvedTimeoutsOptions } from '../model/timeouts-options';
import { TimeoutQueries } from '../scheduling/timeout-scheduler';
import { DatabaseClock, WakeUpConsumer } from './received-wake-ups';
import { TimeoutProcessor } from './timeout-processor';
import { Sweep } from './sweep';
import { type NextWakeUp } from './timeout-settler';

/** What is due later, the sweep's look-ahead finds. */
const SOON_MS = 2_000;

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
  private readonly handlers = new Map<string, RegisteredHandler>();
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
    this.path = new MessagePath({ client, options, observer: observers, kinds: () => this.kinds, isConsumed }, clock);
    const routeOne: OutboxRouter = (row) => routeEvent(client.names, row);
    const lanes = {
      event: { publisher: client.publisher, router: () => routeOne },
      'wake-up': { publisher: client.wakeUpPublisher, router: () => this.path.router },
    };
    this.relays = new OutboxRelays({ dataSource, schema, lanes }, clock);
    this.dueRuns = new DueRuns({ dataSource, schema, processors: this.processors }, clock);
  }

  get kinds(): readonly string[] {
    return [...this.handlers.keys()];
  }

  /** @internal Them, also those that are registered later. */
  get knownKinds(): Pick<ReadonlySet<string>, 'has'> {
    return this.handlers;
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
      const other = this.handlers.get(kind)?.handler;
      if (other) throw new DuplicateTimeoutHandlerError(kind, other.constructor.name, handler.constructor.name);
    }
    for (const registered of handlers) this.handlers.set(registered.kind, registered);
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
    if (this.options.consume) for (const handler of this.handlers.values()) this.work(handler, this.writesWakeUps);
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
    this.unsubscribe = onAnnouncedCommit(this.options.dataSource, { wakeUps: (wakeUps) => this.takeSoon(wakeUps) });
    for (const sweep of this.sweeps.values()) sweep.start();
  }

  /** What was just scheduled and is due soon is handled without a message while none arrive: the next tick would be late. */
  private takeSoon(wakeUps: readonly AnnouncedWakeUp[]): void {
    const untilMs = this.databaseClock.nowMs() + SOON_MS;
    const soon = wakeUps.filter(({ dueAtMs }) => dueAtMs <= untilMs);
    if (soon.length === 0 || this.isMessagePathUp) return;
    for (const { kind, key, generation, dueAtMs } of soon) this.sweeps.get(kind)?.take(key, generation, dueAtMs);
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
      for (const handler of this.handlers.values()) this.work(handler, false);
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
    const { path, outbox, databaseClock, observers: observer, controls, writesWakeUps, clock } = this;
    const { dataSource, schema, ladder, sweep: options } = this.options;
    // Longer than the ladder's unit and the head start: a wake-up that is less early would be redelivered without a delay.
    const longestHoldMs = Math.max(2_000, 2 * (ladder.unitMs ?? 0) + HEAD_START_MS);
    const shared = { dataSource, schema, outbox, writesWakeUps, databaseClock, observer, longestHoldMs, controls };
    const processor = new TimeoutProcessor(handler, shared, clock);
    const watched = {
      upcomingSql: new TimeoutQueries(schema).upcoming,
      isPaused: () => processor.isPaused,
      isClock: () => path.state !== 'up',
      missed: path.missed.bind(path, processor.kind),
    };
    const { concurrency, prefetch } = handler.options;
    this.processors.set(handler.kind, processor);
    this.sweeps.set(handler.kind, new Sweep({ processor, dataSource, options, concurrency, ...watched }, clock));
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
}

interface RunsDependencies {
  readonly dataSource: DataSource;
  readonly schema: string;
  readonly processors: ReadonlyMap<string, Pick<TimeoutProcessor, 'add' | 'whenIdle'>>;
}

/** The timeout that has been due for longest, and until when no other kind has one. */
interface FirstDue extends TimeoutRef {
  readonly until: string;
}

/** More in one go means that a handler makes every timeout due again. */
const MOST_PAGES = 10_000;

const PAGE = 200;

/** How long the rows of a transaction that is being committed are waited for. */
const LOCKED_MS = 2_000;

const LOOK_MS = 20;

/** Runs what is due when it is asked to, for tests: the earliest first, whatever its kind, and look-ups to their end. */
class DueRuns {
  private readonly firstSql: string;
  private readonly pageSql: string;

  constructor(
    private readonly deps: RunsDependencies,
    private readonly clock: Clock,
  ) {
    this.firstSql = `
      WITH due AS (
        SELECT DISTINCT ON (kind) kind, key, next_attempt_at AS at FROM ${deps.schema}.timeout
         WHERE kind = ANY($1) AND state = 'pending' AND next_attempt_at <= now() ORDER BY kind, next_attempt_at, key),
      first AS (SELECT * FROM due ORDER BY at, kind LIMIT 1)
      SELECT kind, key, coalesce((SELECT min(at) FROM due WHERE due.at > first.at), 'infinity')::text AS until FROM first`;
    // Rows that a transaction of the test has locked are left out, because their wake-ups would wait for its end.
    this.pageSql = `
      SELECT key, generation::text AS generation, (extract(epoch FROM next_attempt_at) * 1000)::float8 AS due_ms
        FROM ${deps.schema}.timeout
       WHERE kind = $1 AND state = 'pending' AND next_attempt_at <= now() AND next_attempt_at < $2::timestamptz
       ORDER BY next_attempt_at, key LIMIT ${PAGE} FOR UPDATE SKIP LOCKED`;
  }

  /** @throws DueTimeoutLockedError, EndlessTimeoutsError */
  async run(): Promise<void> {
    for (let page = 0; page < MOST_PAGES; page++) {
      const [first] = await ownQuery<FirstDue[]>(this.deps.dataSource, this.firstSql, [this.kinds]);
      if (!first) return;
      await this.settle(first.kind, await this.page(first));
    }
    throw new EndlessTimeoutsError(MOST_PAGES);
  }

  /** Whole milliseconds until the next timeout is due, rounded up; undefined: none is pending. */
  untilNext(): Promise<number | undefined> {
    return this.milliseconds('min(next_attempt_at)', `kind = ANY($1) AND state = 'pending'`, [this.kinds]);
  }

  /** The same for one timeout. Zero if it is due, or not pending. */
  async untilDue({ kind, key }: TimeoutRef): Promise<number> {
    const ms = await this.milliseconds('min(due_at)', `kind = $1 AND key = $2 AND state = 'pending'`, [kind, key]);
    return ms ?? 0;
  }

  private get kinds(): string[] {
    return [...this.deps.processors.keys()];
  }

  private async milliseconds(at: string, where: string, values: unknown[]): Promise<number | undefined> {
    const [row] = await ownQuery<{ ms: number | null }[]>(
      this.deps.dataSource,
      `SELECT GREATEST(0, ceil(extract(epoch FROM ${at} - now()) * 1000))::float8 AS ms
         FROM ${this.deps.schema}.timeout WHERE ${where} HAVING count(*) > 0`,
      values,
    );
    return row?.ms ?? undefined;
  }

  private async page(first: FirstDue): Promise<NextWakeUp[]> {
    const endsAt = this.clock.monotonic() + LOCKED_MS;
    for (;;) {
      const rows = await ownQuery<NextWakeUp[]>(this.deps.dataSource, this.pageSql, [first.kind, first.until]);
      if (rows.length > 0) return rows;
      if (this.clock.monotonic() > endsAt) throw new DueTimeoutLockedError(first, LOCKED_MS);
      await this.clock.sleep(LOOK_MS);
    }
  }

  private async settle(kind: string, rows: readonly NextWakeUp[]): Promise<void> {
    const processor = this.deps.processors.get(kind);
    if (!processor) throw new Error(`no handler of "${kind}"`);
    const finished = rows.map(
      ({ key, generation, due_ms: dueAtMs }) =>
        new Promise<void>((resolve) =>
          processor.add({ wakeUp: { key, generation, dueAtMs, cause: 'sweep' }, finish: () => resolve() }),
        ),
    );
    await Promise.all(finished);
    await processor.whenIdle();
  }
}
