import { type BeforeApplicationShutdown, Module, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { DiscoveryModule, ModulesContainer } from '@nestjs/core';
import { CLOCK } from '../clock';
import { Outbox } from '../outbox';
import { RabbitClient } from '../rabbit';
import { ParkedTimeouts } from './parked-timeouts';
import { refuseSecondImport } from './startup/refuse-second-import';
import { TimeoutEngine } from './timeout-engine';
import { TimeoutSummary } from './timeout-summary';
import { TimeoutHandlerExplorer } from './handlers/timeout-handler.explorer';
import { TimeoutObservers } from './timeout-observer';
import { TimeoutScheduler } from './scheduling/timeout-scheduler';
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
  implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown
{
  constructor(
    private readonly engine: TimeoutEngine,
    private readonly explorer: TimeoutHandlerExplorer,
    private readonly modules: ModulesContainer,
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
}
