import { Logger } from '@nestjs/common';
import { type Clock, PollingLoop } from '../../clock';
import { type DelayTransportName } from '../../delay';
import { type OutboxRouter } from '../../outbox';
import { type Channel, type RabbitClient } from '../../rabbit';
import { type TimeoutObserver } from '../model/timeout';
import { type ResolvedTimeoutsOptions } from '../model/timeouts-options';
import { TransportSwitch, type TransportChoice, type Path, PathRecord } from './transport-switch';
import { type RepublicationProgress, EngineSettings, WakeUpRepublisher } from './wake-up-republisher';
import { PathRecovery } from './path-recovery';
import { PrefixWatch } from './prefix-watch';

interface PathDependencies {
  readonly client: RabbitClient;
  readonly options: ResolvedTimeoutsOptions;
  readonly observer: TimeoutObserver;
  /** Kinds whose wake-ups must find their work queue. */
  kinds(): readonly string[];
  /** Whether every work queue is consumed. */
  isConsumed(): boolean;
}

/**
 * `up`: wake-ups travel and arrive; connected, declared, confirmed in time and consuming. `suspect`: messages flow, but wake-ups keep going
 * missing. `off`: the transport is `none`. In all but `up` the sweep is the clock.
 */
type MessagePathState = 'up' | 'down' | 'suspect' | 'off';

const TICK_MS = 1_000;

/** How often a connected process looks whether plugin and broker are still what they were. */
const INSPECT_MS = 60_000;

/** Pause after an inspection without an answer. */
const RETRY_MS = 5_000;

/** How often an instance looks whether another one has left a republication unfinished. */
const POLL_MS = 10_000;

const ANSWER_MS = 10_000;

/** A run declares, probes, and publishes a page: a minute on a slow broker. A second one beside it finds the page locked. */
const STUCK_MS = 120_000;

/**
 * How wake-ups come back to this process through the broker. Watches the transport and broker that hold the pending ones, and
 * publishes these again when they may be lost.
 */
export class MessagePath {
  /** The log has always called it so. */
  private readonly logger = new Logger('PathWatch');
  private readonly switch: TransportSwitch;
  private readonly republication: WakeUpRepublisher;
  private readonly record: PathRecord;
  private readonly prefix: PrefixWatch;
  private readonly recovery: PathRecovery;
  private readonly loop: PollingLoop;
  private recorded: Path | undefined;
  private inspectAtMs = -Infinity;
  private pollAtMs = -Infinity;
  private wasRefused = false;

  constructor(
    private readonly deps: PathDependencies,
    private readonly clock: Clock,
  ) {
    const { client, options, observer } = deps;
    const { dataSource, schema, horizonMs } = options;
    const declared = (wasRefused: boolean): void => this.declared(wasRefused);
    this.switch = new TransportSwitch({ client, options, observer, kinds: () => deps.kinds(), declared }, clock);
    const settings = new EngineSettings(schema);
    const republication = new WakeUpRepublisher(dataSource, settings, schema, horizonMs);
    this.republication = republication;
    this.record = new PathRecord(dataSource, settings, republication, schema);
    this.prefix = new PrefixWatch({ dataSource, settings, republication, names: client.names }, clock);
    this.recovery = new PathRecovery({ ...options, client, observer, switch: this.switch, republication }, clock);
    const runOnce = (): Promise<boolean> => this.look();
    this.loop = new PollingLoop(clock, { name: 'message-path', runOnce, intervalMs: TICK_MS, limitMs: STUCK_MS });
  }

  /** How timeouts wait; undefined until the broker has answered for the first time. */
  get transport(): DelayTransportName | undefined {
    return this.switch.current;
  }

  /** @internal The same, with the reason. */
  get choice(): TransportChoice | undefined {
    return this.switch.choice;
  }

  /** Routes wake-ups, while there is a transport that takes them. */
  get router(): OutboxRouter | undefined {
    return this.switch.router;
  }

  get state(): MessagePathState {
    if (this.transport === 'none') return 'off';
    const { isReady, isPunctual } = this.deps.client.wakeUpPublisher;
    if (!this.router || !isReady || !isPunctual || !this.deps.isConsumed()) return 'down';
    return this.recovery.isSuspect ? 'suspect' : 'up';
  }

  /** What is wrong while messages flow, and what to do; undefined: no problem is known. */
  get doubt(): string | undefined {
    return this.recovery.cause ?? this.prefix.rivalry;
  }

  start(): void {
    this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  /** For a work queue that is declared anew. */
  bind(channel: Channel, kind: string, queue: string): Promise<void> {
    return this.switch.bind(channel, kind, queue);
  }

  /** Call it when a run of the sweep has found timeouts whose wake-ups should have come; `count` tells how many still lack one. */
  missed(kind: string, count: () => number): void {
    if (this.recovery.missed(kind, count)) this.loop.wake();
  }

  /** Has everything that is pending published again; `off` when nothing is published at all. */
  async republish(): Promise<'requested' | 'off'> {
    if (this.deps.options.transport === 'none') return 'off';
    await this.publishAgain('an operator asked for it');
    return 'requested';
  }

  /** @internal How far the last republication has come, in whichever process. */
  republicationProgress(): Promise<RepublicationProgress> {
    return this.republication.progress();
  }

  /** A connection is ready for wake-ups: it may lead to another broker than before, or to a plugin that was disabled meanwhile. */
  private declared(wasRefused: boolean): void {
    this.inspectAtMs = -Infinity;
    this.wasRefused ||= wasRefused;
    this.loop.wake();
  }

  private async publishAgain(cause: string): Promise<void> {
    await this.republication.request({ cause });
    this.publishSoon();
  }

  private async look(): Promise<boolean> {
    const { path } = this.switch;
    if (!path) return false;
    if (this.recorded !== path) await this.remember(path);
    if (path.name === 'none') return this.drop();
    if (this.wasRefused) await this.publishAgain('the plugin was not there, or did not work');
    this.wasRefused = false;
    await this.recovery.examine();
    await this.askBroker(() => this.recovery.attempt());
    if (this.clock.monotonic() >= this.inspectAtMs) await this.inspect();
    return this.publishNext();
  }

  private async remember(path: Path): Promise<void> {
    if (await this.record.record(path)) this.publishSoon();
    this.recorded = path;
  }

  /** Again each minute, because an instance that has a transport may still run beside this one. */
  private async drop(): Promise<boolean> {
    if (this.clock.monotonic() < this.inspectAtMs) return false;
    const isMore = await this.record.dropPage();
    if (!isMore) this.inspectAtMs = this.clock.monotonic() + INSPECT_MS;
    return isMore;
  }

  private async inspect(): Promise<void> {
    // Before the answers: a connection that is made meanwhile is to be inspected at once.
    this.inspectAtMs = this.clock.monotonic() + INSPECT_MS;
    const isFound = await this.askBroker(async () => {
      const { client } = this.deps;
      const isLost = await client.onTemporaryConnection((connection) => this.prefix.inspect(connection), ANSWER_MS);
      if (isLost) this.publishSoon();
    });
    await this.askBroker(() => this.switch.reconsider());
    if (!isFound) this.inspectAtMs = Math.min(this.inspectAtMs, this.clock.monotonic() + RETRY_MS);
  }

  /** Returns whether the broker answered. Failures are logged at debug, because its connections log that it is unavailable. */
  private askBroker(ask: () => Promise<void>): Promise<boolean> {
    return ask().then(
      () => true,
      (error: unknown) => {
        this.logger.debug(`not found out: ${String(error)}`);
        return false;
      },
    );
  }

  private publishSoon(): void {
    this.pollAtMs = -Infinity;
    this.loop.wake();
  }

  private async publishNext(): Promise<boolean> {
    const nowMs = this.clock.monotonic();
    // A suspect path waits for the republication that it has asked for.
    if (nowMs < this.pollAtMs && !this.recovery.isSuspect) return false;
    const step = await this.republication.step();
    if (step.type === 'done') this.logger.log(`published ${step.rows} pending wake-ups again: ${step.cause}`);
    this.pollAtMs = step.type === 'idle' || step.type === 'done' ? nowMs + POLL_MS : nowMs;
    return step.type === 'page';
  }
}
