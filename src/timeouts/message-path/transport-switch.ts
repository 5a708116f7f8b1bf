import { Logger } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { type Clock } from '../../clock';
import {
  asksTheBroker,
  DelayedExchange,
  type DelayTransport,
  type DelayTransportName,
  isProbeable,
  Ladder,
  NoBrokerDelay,
  type ProbeResult,
  probeTransport,
  selectTransport,
  type TransportSelection,
} from '../../delay';
import { type ClaimedRow, messageOf, type OutboxRouter, UnsentWakeUps } from '../../outbox';
import {
  type Channel,
  type ChannelModel,
  declareBase,
  declareWorkQueue,
  onChannel,
  type Publication,
  type RabbitClient,
} from '../../rabbit';
import { ownTransaction } from '../../database';
import { HEAD_START_MS, type TimeoutObserver } from '../model/timeout';
import { type ResolvedTimeoutsOptions } from '../model/timeouts-options';
import { type EngineSettings, type WakeUpRepublisher } from './wake-up-republisher';

interface SwitchDependencies {
  readonly client: RabbitClient;
  readonly options: ResolvedTimeoutsOptions;
  readonly observer: TimeoutObserver;
  /** Kinds whose wake-ups must find their work queue. */
  kinds(): readonly string[];
  /** Wake-ups can be published from now on. `wasRefused`: the plugin was not there, or broken, so what waited in it is lost. */
  declared(wasRefused: boolean): void;
}

/** After the plugin was left, wake-ups are not handed to it again for this long. */
const RETURN_MS = 600_000;

/** An empty broker creates a quorum queue in about 50 ms, and the ladder has 147 of them. */
const DECLARE_MS = 60_000;

/** One message may be late on a busy broker; this many in a row are a fault. */
const FAILURES = 2;

/** Decides which delay transport wake-ups take: after every (re)connect, and anew while connected. */
export class TransportSwitch {
  private readonly logger = new Logger(TransportSwitch.name);
  private transport: DelayTransport | undefined;
  /** Why the transport in use was chosen; undefined as `current`. */
  choice: TransportChoice | undefined;
  private leftMs = -Infinity;
  private failures = 0;
  private wasRefused = false;

  constructor(
    private readonly deps: SwitchDependencies,
    private readonly clock: Clock,
  ) {
    const { transport, hasBroker } = deps.options;
    if (transport === 'none') this.use(this.create('none'), hasBroker ? 'it is configured' : 'no broker is configured');
    else deps.client.declareBeforeWakeUps((channel, model) => this.declare(channel, model));
  }

  /** The transport in use; undefined until the broker has answered for the first time. */
  get current(): DelayTransportName | undefined {
    return this.transport?.name;
  }

  /** What wake-ups are handed to; undefined as `current`. */
  get path(): Path | undefined {
    return this.transport;
  }

  /** Routes wake-ups, while there is a transport that takes them. */
  get router(): OutboxRouter | undefined {
    const { transport } = this;
    if (!transport || transport.name === 'none') return undefined;
    return (row, remainingMs) => routeWakeUp(transport, row, remainingMs);
  }

  /**
   * Binds a work queue that was declared again. Until the transport is declared on this connection, `declare` does it: the
   * exchange may not exist yet, and a binding to a missing exchange closes the channel.
   */
  async bind(channel: Channel, kind: string, queue: string): Promise<void> {
    if (this.deps.client.wakeUpPublisher.isReady) await this.transport?.bindKind(channel, kind, queue);
  }

  /** Looks whether the plugin was enabled, disabled or broken while connected, where the choice is open. */
  async reconsider(): Promise<void> {
    const { transport, rabbit } = this.deps.options;
    if (transport === 'auto' && asksTheBroker(transport, rabbit.urls)) await this.follow(await this.probePlugin());
  }

  /** Declares everything again and sends a message through it, unless that takes too long. The result may change the transport. */
  async restore(): Promise<ProbeResult> {
    const { client } = this.deps;
    const { transport } = this;
    if (!transport) return { type: 'unknown', reason: 'no delay transport yet' };
    const prepare = (channel: Channel, model: ChannelModel): Promise<void> =>
      this.declareAll(model, channel, transport);
    if (!isProbeable(transport)) return this.declareAlone(prepare);
    const options = { prefix: client.names.prefix, timeoutMs: DECLARE_MS, prepare, clock: this.clock };
    const probe = await probeTransport(() => client.temporaryConnection(), transport, options);
    if (transport.name === 'delayed-exchange') await this.follow(probe);
    return probe;
  }

  /** Where one unit of the ladder is too long to wait for a message: what is declared anew counts as working. */
  private async declareAlone(prepare: (channel: Channel, model: ChannelModel) => Promise<void>): Promise<ProbeResult> {
    const declaring = this.deps.client.onTemporaryConnection(
      (connection) => onChannel(connection, (channel) => prepare(channel, connection)),
      DECLARE_MS,
    );
    return declaring.then(
      (): ProbeResult => ({ type: 'works' }),
      (error: unknown): ProbeResult => ({ type: 'unknown', reason: String(error) }),
    );
  }

  /** Chooses the transport, then declares its exchanges and queues. A rejection makes the channel try again. */
  private async declare(channel: Channel, model: ChannelModel): Promise<void> {
    const { transport, rabbit } = this.deps.options;
    const probe = asksTheBroker(transport, rabbit.urls) ? this.believed(await this.probePlugin()) : undefined;
    this.wasRefused ||= transport === 'delayed-exchange' && (probe?.type === 'absent' || probe?.type === 'unusable');
    const selection = selectTransport(transport, probe, this.current);
    if (selection.type === 'undecided') throw new Error(`no delay transport yet: ${selection.reason}`);
    await this.take(model, channel, selection);
    this.deps.declared(this.wasRefused);
    this.wasRefused = false;
  }

  /** Changes the transport on the living connection if the probe says so. */
  private async follow(probe: ProbeResult): Promise<void> {
    this.failures = probe.type === 'unusable' ? this.failures + 1 : 0;
    if (this.deps.options.transport !== 'auto' || (probe.type === 'unusable' && this.failures < FAILURES)) return;
    const selection = selectTransport('auto', this.believed(probe), this.current);
    if (selection.type === 'undecided' || selection.transport === this.current) return;
    await this.deps.client.onTemporaryConnection(
      (connection) => onChannel(connection, (channel) => this.take(connection, channel, selection)),
      DECLARE_MS,
    );
    this.deps.declared(false);
  }

  /** A plugin that works again within ten minutes of failing is not used yet, so that the transport does not flap. */
  private believed(probe: ProbeResult): ProbeResult {
    const isSoon = this.current === 'ladder' && this.clock.monotonic() - this.leftMs < RETURN_MS;
    if (probe.type !== 'works' || !isSoon) return probe;
    return { type: 'unknown', reason: 'the plugin works again, but has failed within the last 10 minutes' };
  }

  private async take(
    model: ChannelModel,
    channel: Channel,
    selection: TransportSelection & { type: 'use' },
  ): Promise<void> {
    const transport = this.current === selection.transport && this.transport;
    const next = transport || this.create(selection.transport);
    await this.declareAll(model, channel, next);
    this.use(next, selection.reason);
  }

  private async declareAll(model: ChannelModel, channel: Channel, transport: DelayTransport): Promise<void> {
    const { client } = this.deps;
    await declareBase(model, channel, client.names, client.options);
    await transport.declare(channel);
    for (const kind of this.deps.kinds()) {
      const queue = await declareWorkQueue(channel, client.names, client.options, kind);
      await transport.bindKind(channel, kind, queue);
    }
  }

  private probePlugin(): Promise<ProbeResult> {
    const { client } = this.deps;
    const options = { prefix: client.names.prefix, clock: this.clock };
    return probeTransport(() => client.temporaryConnection(), this.create('delayed-exchange'), options);
  }

  private create(name: DelayTransportName): DelayTransport {
    const { client, options } = this.deps;
    if (name === 'none') return new NoBrokerDelay();
    if (name === 'delayed-exchange') return new DelayedExchange(client.names);
    const { horizonMs, ladder, rabbit } = options;
    return new Ladder(client.names, { ...ladder, horizonMs, queueType: rabbit.queueType });
  }

  private use(transport: DelayTransport, reason: string): void {
    if (this.transport?.name === transport.name) return;
    if (this.transport) this.leftMs = this.clock.monotonic();
    this.transport = transport;
    this.choice = { name: transport.name, why: reason, since: new Date(this.clock.now()) };
    this.logger.log(`delay transport: ${transport.name}, because ${reason}`);
    this.deps.observer.transport(transport.name);
  }
}

export interface TransportChoice {
  readonly name: DelayTransportName;
  readonly why: string;
  /** By the clock of this process. */
  readonly since: Date;
}

/** What wake-ups are handed to: a name for the log, and where they wait. */
export type Path = Pick<DelayTransport, 'name' | 'address'>;

const PAGE = 10_000;

/**
 * The record ends in this number, because earlier builds can have several work queues per kind. Without the ending, every
 * upgrade would publish all pending wake-ups again. Only an upgrade from several queues needs that.
 */
const WORK_QUEUES_PER_KIND = 1;

/**
 * Records in the database what the pending wake-ups were handed to, and has them published again when that changes: the
 * transport, prefix, ladder, or type of queue. The first of several instances does so, and the others find it done.
 */
export class PathRecord {
  private readonly unsent: UnsentWakeUps;

  constructor(
    private readonly dataSource: DataSource,
    private readonly settings: EngineSettings,
    private readonly republication: WakeUpRepublisher,
    schema: string,
  ) {
    this.unsent = new UnsentWakeUps(schema);
  }

  /** Records the path. Returns true when what is pending is to be published again. */
  record(path: Path): Promise<boolean> {
    return ownTransaction(this.dataSource, async (tx) => {
      const value = `${path.address}/${WORK_QUEUES_PER_KIND}`;
      const previous = await this.settings.lock(tx, 'message-path');
      const name = await this.settings.read(tx, 'delay-transport');
      if (previous === value && name === path.name) return false;
      // Earlier releases record the name alone; one of them may have run since.
      const isOther = previous === '' ? name !== undefined && name !== path.name : true;
      const isNeeded = isOther && path.name !== 'none';
      const cause = `wake-ups are handed to ${value}, and no longer to ${previous || String(name)}`;
      if (isNeeded) await this.republication.requestIn(tx, { cause, all: name === 'none' });
      await this.settings.write(tx, 'message-path', value);
      await this.settings.write(tx, 'delay-transport', path.name);
      return isNeeded;
    });
  }

  /**
   * Deletes a page of the wake-ups in the outbox: without a transport nobody publishes them, and they would pile up.
   * Returns true when there may be more.
   */
  async dropPage(): Promise<boolean> {
    return (await this.unsent.deletePage(this.dataSource, PAGE)) === PAGE;
  }
}

/** The message of one wake-up that is due in `remainingMs` milliseconds. */
export function routeWakeUp(transport: DelayTransport, row: ClaimedRow, remainingMs: number): Publication {
  const route = transport.route(row.routing_key, remainingMs - HEAD_START_MS);
  const message = messageOf(row);
  return { ...message, ...route, headers: { ...route.headers, ...message.headers } };
}
