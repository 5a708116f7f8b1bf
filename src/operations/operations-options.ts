import { type OpenMetricsContentType, type PrometheusContentType, type Registry } from 'prom-client';

/** A registry of prom-client, whatever format it writes. */
export type MetricsRegistry = Registry<PrometheusContentType> | Registry<OpenMetricsContentType>;

/** Options of OperationsModule. */
export interface OperationsOptions {
  /** Where our metrics go, e.g. prom-client's `register`; they leave it when the application stops. @default one of our own */
  readonly registry?: MetricsRegistry;
  /** Whether the metrics of the process and of Node.js are collected too. @default true, and false with `registry` */
  readonly defaultMetrics?: boolean;
}
