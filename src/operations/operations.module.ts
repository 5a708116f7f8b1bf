import { Module } from '@nestjs/common';
import { HealthController, OrderTimeoutHealthIndicator } from './health.controller';
import { Metrics, MetricsController, ConfigurableModuleClass } from './metrics';
import { ServiceState } from './service-state';

/**
 * Serves /health/live, /health/ready, and /metrics. Needs a global TimeoutsModule or OrderTimeoutModule. Import the
 * class, or `OperationsModule.forRoot({ registry })` for metrics in your own registry.
 */
@Module({
  controllers: [HealthController, MetricsController],
  providers: [ServiceState, Metrics, OrderTimeoutHealthIndicator],
  exports: [Metrics, ServiceState, OrderTimeoutHealthIndicator],
})
export class OperationsModule extends ConfigurableModuleClass {}
