import {
  type BeforeApplicationShutdown,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
  ConfigurableModuleBuilder,
  type Provider,
  type Type,
} from '@nestjs/common';
import { DiscoveryModule, ModulesContainer } from '@nestjs/core';
import { CLOCK, type Clock, SystemClock } from '../clock';
import { Database } from '../database';
import { Outbox } from '../outbox';
import { RabbitClient } from '../rabbit';
import { ParkedTimeouts } from './parked-timeouts';
import {
  endConnection,
  type ResolvedTimeoutsOptions,
  type TimeoutsOptions,
  openConnection,
  resolveTimeoutsOptions,
} from './model/timeouts-options';
import { refuseSecondImport } from './startup/assert-database';
import { TimeoutEngine } from './engine/timeout-engine';
import { TimeoutSummary } from './timeout-summary';
import { TimeoutHandlerExplorer } from './handlers/registered-handler';
import { TimeoutObservers } from './model/timeout';
import { TimeoutScheduler, TimeoutQueries } from './scheduling/timeout-scheduler';

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: TIMEOUTS_OPTIONS } =
  new ConfigurableModuleBuilder<TimeoutsOptions>()
    .setClassMethodName('forRoot')
    .setExtras({ isGlobal: true }, (definition, { isGlobal }) => ({ ...definition, global: isGlobal }))
    .build();

export const RESOLVED_TIMEOUTS_OPTIONS = Symbol('order-timeout:timeouts-options');

/** What is made of the options alone. */
function fromOptions(provide: Type, useFactory: (options: ResolvedTimeoutsOptions) => unknown): Provider {
  return { provide, inject: [RESOLVED_TIMEOUTS_OPTIONS], useFactory };
}

const engine: Provider = {
  provide: TimeoutEngine,
  inject: [RESOLVED_TIMEOUTS_OPTIONS, RabbitClient, Outbox, TimeoutObservers, CLOCK],
  useFactory: (
    resolved: ResolvedTimeoutsOptions,
    client: RabbitClient,
    box: Outbox,
    observers: TimeoutObservers,
    time: Clock,
  ) => new TimeoutEngine(resolved, client, box, observers, time),
};

const scheduler: Provider = {
  provide: TimeoutScheduler,
  inject: [RESOLVED_TIMEOUTS_OPTIONS, TimeoutEngine],
  useFactory: (
    { dataSource, schema, horizonMs, transport, consume }: ResolvedTimeoutsOptions,
    running: TimeoutEngine,
  ) =>
    new TimeoutScheduler({
      dataSource,
      horizonMs,
      queries: new TimeoutQueries(schema),
      writesWakeUps: transport !== 'none',
      ...(consume && { knownKinds: running.knownKinds }),
      wake: (refs, cause) => running.wake(refs, cause),
    }),
};

const TIMEOUTS_PROVIDERS: Provider[] = [
  { provide: CLOCK, useClass: SystemClock },
  { provide: RESOLVED_TIMEOUTS_OPTIONS, inject: [TIMEOUTS_OPTIONS, CLOCK], useFactory: openTimeouts },
  {
    provide: RabbitClient,
    inject: [RESOLVED_TIMEOUTS_OPTIONS, CLOCK],
    useFactory: ({ rabbit }: ResolvedTimeoutsOptions, time: Clock) => new RabbitClient(rabbit, time),
  },
  fromOptions(Database, ({ dataSource, schema }) => new Database(dataSource, schema)),
  fromOptions(
    Outbox,
    ({ schema, horizonMs, hasOutboxReader: hasReader }) => new Outbox({ schema, horizonMs, hasReader }),
  ),
  fromOptions(
    ParkedTimeouts,
    (options) => new ParkedTimeouts({ ...options, writesWakeUps: options.transport !== 'none' }),
  ),
  fromOptions(TimeoutSummary, ({ dataSource, schema }) => new TimeoutSummary(dataSource, schema)),
  TimeoutObservers,
  TimeoutHandlerExplorer,
  engine,
  scheduler,
];

/**
 * Durable timeouts for any purpose: schedule them in your own transaction, handle them in a provider marked with
 * `@TimeoutHandler`. `OrderTimeoutModule` is built on it. Global unless `isGlobal: false`.
 */
@Module({
  imports: [DiscoveryModule],
  providers: TIMEOUTS_PROVIDERS,
  exports: [
    CLOCK,
    RESOLVED_TIMEOUTS_OPTIONS,
    Database,
    TimeoutScheduler,
    ParkedTimeouts,
    TimeoutSummary,
    TimeoutEngine,
    TimeoutObservers,
    Outbox,
    RabbitClient,
  ],
})
export class TimeoutsModule
  extends ConfigurableModuleClass
  implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  constructor(
    private readonly engine: TimeoutEngine,
    private readonly explorer: TimeoutHandlerExplorer,
    private readonly modules: ModulesContainer,
    @Inject(RESOLVED_TIMEOUTS_OPTIONS) private readonly options: ResolvedTimeoutsOptions,
  ) {
    super();
  }

  onModuleInit(): void {
    refuseSecondImport(this.modules, TimeoutsModule);
    this.engine.register(this.explorer.explore());
  }

  onApplicationBootstrap(): Promise<void> {
    return this.engine.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.engine.stop();
  }

  /** Later than the engine's stop, and when everybody else has had the connection for the end of their work. */
  onApplicationShutdown(): Promise<void> {
    return endConnection(this.options);
  }
}

/** The options in full, with a connection that is open. */
export async function openTimeouts(raw: TimeoutsOptions, time: Clock): Promise<ResolvedTimeoutsOptions> {
  const resolved = resolveTimeoutsOptions(raw);
  await openConnection(resolved, time);
  return resolved;
}
