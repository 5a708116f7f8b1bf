import { type OpenMetricsContentType, type PrometheusContentType, type Registry } from 'prom-client';

/** A prom-client registry of either format. */
export type MetricsRegistry = Registry<PrometheusContentType> | Registry<OpenMetricsContentType>;

/** Options of OperationsModule. */
export interface OperationsOptions {
  /** Registry for our metrics, which are removed when the application stops. @default a separate one */
  readonly registry?: MetricsRegistry;
  /** Whether to collect metrics of the process and of Node.js too. @default true, or false with `registry` */
  readonly defaultMetrics?: boolean;
}
