import { Logger } from '@nestjs/common';
import { type Clock, PollingLoop } from '../../clock';
import { type RabbitClient } from '../../rabbit';
import { EngineSettings } from './engine-settings';
import { type Path, PathRecord } from './path-record';
import { PathRecovery } from './path-recovery';
import { PrefixWatch } from './prefix-watch';
import { type RepublicationProgress, WakeUpRepublisher } from './wake-up-republisher';
import { withTemporaryConnection } from './with-temporary-connection';
import { type TimeoutObserver } from '../timeout-observer';
import { type ResolvedTimeoutsOptions } from '../timeouts-options';
import { type TransportSwitch } from './transport-switch';

interface WatchDependencies {
  readonly client: RabbitClient;
  readonly options: ResolvedTimeoutsOptions;
  readonly observer: TimeoutObserver;
  readonly switch: Pick<TransportSwitch, 'path' | 'reconsider' | 'restore'>;
}

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

/** Watches the transport and broker that hold the pending wake-ups, and publishes these again when they may be lost. */
export class PathWatch {
  private readonly logger = new Logger(PathWatch.name);
  private readonly republication: WakeUpRepublisher;
  private readonly record: PathRecord;
  private readonly prefix: PrefixWatch;
  private readonly recovery: PathRecovery;
  private readonly loop: PollingLoop;
  private recorded: Path | undefined;
  private inspectAtMs = -Infinity;
  private pollAtMs = -Infinity;
  private wasRefused = false;
  private mayHaveUnneeded = false;

  constructor(
    private readonly deps: WatchDependencies,
    private readonly clock: Clock,
  ) {
    const { client, options, observer } = deps;
    const { dataSource, schema, horizonMs } = options;
    const settings = new EngineSettings(schema);
    const republication = new WakeUpRepublisher(dataSource, settings, schema, horizonMs);
    this.republication = republication;
    this.record = new PathRecord(dataSource, settings, republication, schema);
    this.prefix = new PrefixWatch({ dataSource, settings, republication, names: client.names }, clock);
    this.recovery = new PathRecovery({ ...options, client, observer, switch: deps.switch, republication }, clock);
    this.loop = new PollingLoop(clock, {
      name: 'message-path',
      limitMs: STUCK_MS,
      runOnce: () => this.look(),
      intervalMs: () => TICK_MS,
    });
  }

  start(): void {
    this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  /** Wake-ups have gone missing, so the sweep has to be the clock. */
  get isSuspect(): boolean {
    return this.recovery.isSuspect;
  }

  /** What is wrong while messages flow; undefined: no problem is known. */
  get doubt(): string | undefined {
    return this.recovery.cause ?? this.prefix.rivalry;
  }

  /** A connection is ready for wake-ups: it may lead to another broker than before, or to a plugin that was disabled meanwhile. */
  declared(wasRefused: boolean): void {
    this.inspectAtMs = -Infinity;
    this.wasRefused ||= wasRefused;
    this.loop.wake();
  }

  /** Call it when a run of the sweep has found timeouts whose wake-ups should have come; `count` tells how many still lack one. */
  missed(kind: string, count: () => number): void {
    if (this.recovery.missed(kind, count)) this.loop.wake();
  }

  /** Has everything that is pending published again, in the background. */
  async republish(cause: string): Promise<void> {
    await this.republication.request({ cause });
    this.publishSoon();
  }

  /** How far the last republication has come, in whichever process. */
  republicationProgress(): Promise<RepublicationProgress> {
    return this.republication.progress();
  }

  private async look(): Promise<boolean> {
    const { path } = this.deps.switch;
    if (!path) return false;
    if (this.recorded !== path) await this.remember(path);
    if (path.name === 'none') return this.drop();
    if (this.wasRefused) await this.republish('the plugin was not there, or did not work');
    this.wasRefused = false;
    await this.recovery.examine();
    await this.askBroker(() => this.recovery.attempt());
    if (this.clock.monotonic() >= this.inspectAtMs) await this.inspect();
    return this.publishNext();
  }

  private async remember(path: Path): Promise<void> {
    if (await this.record.record(path)) this.publishSoon();
    this.recorded = path;
    this.mayHaveUnneeded = path.name === 'none';
  }

  private async drop(): Promise<boolean> {
    if (!this.mayHaveUnneeded) return false;
    this.mayHaveUnneeded = await this.record.dropPage();
    return this.mayHaveUnneeded;
  }

  private async inspect(): Promise<void> {
    // Before the answers: a connection that is made meanwhile is to be inspected at once.
    this.inspectAtMs = this.clock.monotonic() + INSPECT_MS;
    const isFound = await this.askBroker(async () => {
      const { client } = this.deps;
      const isLost = await withTemporaryConnection(client, this.clock, ANSWER_MS, (connection) =>
        this.prefix.inspect(connection),
      );
      if (isLost) this.publishSoon();
    });
    await this.askBroker(() => this.deps.switch.reconsider());
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
    if (nowMs < this.pollAtMs && !this.isSuspect) return false;
    const step = await this.republication.step();
    if (step.type === 'done') this.logger.log(`published ${step.rows} pending wake-ups again: ${step.cause}`);
    this.pollAtMs = step.type === 'idle' || step.type === 'done' ? nowMs + POLL_MS : nowMs;
    return step.type === 'page';
  }
}
