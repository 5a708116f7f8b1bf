export { type Readiness } from './assess-readiness';
export { HealthController } from './health.controller';
export { examine, type Patient } from './doctor/examine';
export { type DoctorReport, type Finding } from './doctor/notes';
export { Metrics } from './metrics';
export { type MetricsRegistry, type OperationsOptions } from './operations-options';
export { type OrderTimeoutHealth, OrderTimeoutHealthIndicator } from './order-timeout-health-indicator';
export { OperationsModule } from './operations.module';
export { LOG_LEVELS, type LogLevel, PinoLogger } from './pino-logger';
