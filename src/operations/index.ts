export {
  type Readiness,
  HealthController,
  type OrderTimeoutHealth,
  OrderTimeoutHealthIndicator,
  OperationsModule,
} from './operations.module';
export { examine, type Patient } from './doctor/examine';
export { OWN_TABLES } from './doctor/schema-examination';
export { type DoctorReport, type Finding } from './doctor/notes';
export { Metrics, type MetricsRegistry, type OperationsOptions } from './metrics';
export { LOG_LEVELS, type LogLevel, PinoLogger } from './pino-logger';
