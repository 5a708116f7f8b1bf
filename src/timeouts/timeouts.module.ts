import {
  type BeforeApplicationShutdown,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { DiscoveryModule, ModulesContainer } from '@nestjs/core';
import { CLOCK } from '../clock';
import { Outbox } from '../outbox';
import { RabbitClient } from '../rabbit';
import { ParkedTimeouts } from './parked-timeouts';
import { endConnection } from './startup/connection';
import { refuseSecondImport } from './startup/refuse-second-import';
import { TimeoutEngine } from './timeout-engine';
import { TimeoutSummary } from './timeout-summary';
import { TimeoutHandlerExplorer } from './handlers/timeout-handler.explorer';
import { TimeoutObservers } from './timeout-observer';
import { TimeoutScheduler } from './scheduling/timeout-scheduler';
import { type ResolvedTimeoutsOptions } from './timeouts-options';
import { ConfigurableModuleClass } from './timeouts.module-definition';
import { RESOLVED_TIMEOUTS_OPTIONS, TIMEOUTS_PROVIDERS } from './timeouts.providers';

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
