import { type DataSource } from 'typeorm';
import { type Clock } from '../../clock';
import { type DelayTransportName } from '../../delay';
import { type OutboxRouter } from '../../outbox';
import { type Channel, type RabbitClient } from '../../rabbit';
import { PathWatch } from './path-watch';
import { type TimeoutObserver } from '../timeout-observer';
import { type ResolvedTimeoutsOptions } from '../timeouts-options';
import { TransportSwitch } from './transport-switch';
import { type TransportChoice } from './transport-choice';
import { type RepublicationProgress } from './wake-up-republisher';

interface PathDependencies {
  readonly client: RabbitClient;
  readonly options: ResolvedTimeoutsOptions;
  readonly dataSource: DataSource;
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
export type MessagePathState = 'up' | 'down' | 'suspect' | 'off';

/** How wake-ups come back to this process through the broker. */
export class MessagePath {
  private readonly switch: TransportSwitch;
  private readonly watch: PathWatch;

  constructor(
    private readonly deps: PathDependencies,
    clock: Clock,
  ) {
    const declared = (wasRefused: boolean): void => this.watch.declared(wasRefused);
    this.switch = new TransportSwitch({ ...deps, kinds: () => deps.kinds(), declared }, clock);
    this.watch = new PathWatch({ ...deps, switch: this.switch }, clock);
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
    return this.watch.isSuspect ? 'suspect' : 'up';
  }

  /** What is wrong while messages flow, and what to do; undefined: no problem is known. */
  get doubt(): string | undefined {
    return this.watch.doubt;
  }

  start(): void {
    this.watch.start();
  }

  stop(): Promise<void> {
    return this.watch.stop();
  }

  /** For a work queue that is declared anew. */
  bind(channel: Channel, kind: string, queue: string): Promise<void> {
    return this.switch.bind(channel, kind, queue);
  }

  /** Call it when a run of the sweep has found timeouts whose wake-ups should have come; `count` tells how many still lack one. */
  missed(kind: string, count: () => number): void {
    this.watch.missed(kind, count);
  }

  /** Has everything that is pending published again; `off` when nothing is published at all. */
  async republish(): Promise<'requested' | 'off'> {
    if (this.deps.options.transport === 'none') return 'off';
    await this.watch.republish('an operator asked for it');
    return 'requested';
  }

  /** @internal How far the last republication has come, in whichever process. */
  republicationProgress(): Promise<RepublicationProgress> {
    return this.watch.republicationProgress();
  }
}
