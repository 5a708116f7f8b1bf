import { type INestApplicationContext, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type OrderTimeoutOptions, OrderTimeoutModule } from '../../src';
import { type Kernel } from './kernel';
import { Listener } from './listener';
import { type SimulatedBroker } from './simulated-broker';
import { acting, type Actor } from './virtual-time';

/** One process of the service, as far as anybody outside can tell. */
export class Instance {
  readonly actor: Actor;
  private app: INestApplicationContext | undefined;
  private readonly callers = new Set<(error: Error) => void>();

  constructor(
    private readonly kernel: Kernel,
    private readonly broker: SimulatedBroker,
    name: string,
    readonly knowsBank: boolean,
    skewMs: number,
  ) {
    this.actor = { name, isAlive: true, stalledUntil: 0, skewMs };
    kernel.sessions.introduce(this.actor);
  }

  /**
   * @param providers what the host has beside its listeners
   * @param failed is called if it does not start, as what watches over processes is.
   */
  start(options: OrderTimeoutOptions, providers: readonly Type[], failed: () => void): void {
    @Module({ imports: [OrderTimeoutModule.forRoot(options)], providers: [Listener, ...providers] })
    class Host {}
    const logger = process.env.SIMULATION_LOG === undefined ? false : console;
    const create = async (): Promise<void> => {
      this.app = await NestFactory.createApplicationContext(Host, { logger, abortOnError: false });
    };
    acting.run(this.actor, create).catch((error: unknown) => {
      if (!this.actor.isAlive) return;
      this.kernel.say(`${this.actor.name} does not start: ${String(error)}`);
      acting.exit(failed);
    });
  }

  get answers(): boolean {
    return this.app !== undefined && this.actor.isAlive;
  }

  /** Rejects also if the instance crashes meanwhile. */
  request<T>(work: (app: INestApplicationContext) => Promise<T>): Promise<T> {
    const { app, actor, callers } = this;
    if (!app || !actor.isAlive) return Promise.reject(new Error('nobody answers'));
    return new Promise((resolve, reject) => {
      callers.add(reject);
      acting
        .run(actor, () => work(app))
        .then(resolve, reject)
        .finally(() => callers.delete(reject));
    });
  }

  /** It stands still, with all that it holds. */
  stall(ms: number): void {
    this.kernel.say(`${this.actor.name} stands still for ${ms} ms`);
    this.actor.stalledUntil = this.kernel.time.now + ms;
  }

  crash(): void {
    if (!this.actor.isAlive) return;
    this.kernel.crash(this.actor);
    this.broker.drop(this.actor);
    for (const end of this.callers) end(new Error('the instance has crashed'));
  }
}
