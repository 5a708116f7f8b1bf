import { Logger } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { type Clock, PollingLoop } from '../clock';
import {
  DelayedExchange,
  type DelayTransport,
  type DelayTransportName,
  Ladder,
  None,
  probeDelayedExchange,
  type ProbeResult,
  selectTransport,
} from '../delay';
import { type Channel, declareWorkQueue, type RabbitClient } from '../rabbit';
import { type OutboxRouter } from '../events';
import { Partitions } from './partitions';
import { Republication } from './republication';
import { routeWakeUp } from './route-wake-up';
import { type TimeoutObserver } from './timeout-observer';
import { type ResolvedTimeoutsOptions } from './timeouts-options';

interface SwitchPlan {
  readonly client: RabbitClient;
  readonly options: ResolvedTimeoutsOptions;
  readonly dataSource: DataSource;
  readonly observer: TimeoutObserver;
  /** Kinds whose wake-ups must find their work queue. */
  kinds(): readonly string[];
}

const CHECK_MS = 1_000;

/**
 * Decides after every (re)connect which delay transport wake-ups take, and has what is pending published again
 * when that is another one than before.
 */
export class TransportSwitch {
  private readonly logger = new Logger(TransportSwitch.name);
  private readonly republication: Republication;
  private readonly loop: PollingLoop;
  private readonly partitions: Partitions;
  private transport: DelayTransport | undefined;

  constructor(
    private readonly plan: SwitchPlan,
    clock: Clock,
  ) {
    this.republication = new Republication(plan.dataSource, plan.options.schema, plan.options.horizonMs);
    this.partitions = new Partitions(plan.options.partitions);
    this.loop = new PollingLoop(clock, {
      name: 'transport-switch',
      runOnce: () => this.republish(),
      intervalMs: () => CHECK_MS,
    });
    if (plan.options.transport === 'none') this.use(this.create('none'), 'it is configured');
    else plan.client.declareBeforeWakeUps((channel) => this.declare(channel));
  }

  /** The transport in use; undefined until the broker has answered for the first time. */
  get current(): DelayTransportName | undefined {
    return this.transport?.name;
  }

  /** Routes wake-ups, while there is a transport that takes them. */
  get router(): OutboxRouter | undefined {
    const { transport } = this;
    if (!transport || transport.name === 'none') return undefined;
    return (row, remainingMs) => routeWakeUp(transport, this.partitions, row, remainingMs);
  }

  start(): void {
    this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  /** For a work queue that is declared anew; before the first choice that is left to `declare`. */
  async bind(channel: Channel, partition: string, queue: string): Promise<void> {
    await this.transport?.bindKind(channel, partition, queue);
  }

  /** Probes where the choice is open, then declares the waiting room. A rejection makes the channel try again. */
  private async declare(channel: Channel): Promise<void> {
    const selection = selectTransport(this.plan.options.transport, await this.probe(), this.current);
    if (selection.type === 'undecided') throw new Error(`no delay transport yet: ${selection.reason}`);
    const transport = this.transport?.name === selection.transport ? this.transport : this.create(selection.transport);
    await transport.declare(channel);
    const { client } = this.plan;
    for (const partition of this.plan.kinds().flatMap((kind) => this.partitions.of(kind))) {
      const queue = await declareWorkQueue(channel, client.names, client.options, partition);
      await transport.bindKind(channel, partition, queue);
    }
    this.use(transport, selection.reason);
  }

  private probe(): Promise<ProbeResult> {
    const { client, options } = this.plan;
    if (options.transport !== 'auto' && options.transport !== 'delayed-exchange') {
      return Promise.resolve({ type: 'unknown', reason: 'not asked' });
    }
    return probeDelayedExchange(() => client.throwAwayConnection(), { prefix: client.names.prefix });
  }

  private create(name: DelayTransportName): DelayTransport {
    const { client, options } = this.plan;
    if (name === 'none') return new None();
    if (name === 'delayed-exchange') return new DelayedExchange(client.names);
    const { horizonMs, ladder, rabbit } = options;
    return new Ladder(client.names, { ...ladder, horizonMs, queueType: rabbit.queueType });
  }

  private use(transport: DelayTransport, reason: string): void {
    if (this.transport?.name === transport.name) return;
    this.transport = transport;
    this.logger.log(`delay transport: ${transport.name}, because ${reason}`);
    this.plan.observer.transport(transport.name);
    this.loop.wake();
  }

  private async republish(): Promise<boolean> {
    const name = this.current;
    if (!name || this.republication.recorded === name) return false;
    const rows = await this.republication.switchTo(name);
    if (rows > 0) this.logger.log(`published ${rows} pending wake-ups again for ${name}`);
    return false;
  }
}
