import { Module } from '@nestjs/common';
import { HealthController } from './health.controller';
import { Metrics } from './metrics';
import { MetricsController } from './metrics.controller';
import { ServiceState } from './service-state';

/** /health/live, /health/ready and /metrics. Needs a global TimeoutsModule or OrderTimeoutModule. */
@Module({
  controllers: [HealthController, MetricsController],
  providers: [ServiceState, Metrics],
  exports: [Metrics, ServiceState],
})
export class OperationsModule {}
