import {
  Inject,
  Injectable,
  type OnModuleDestroy,
  Optional,
  Controller,
  Get,
  Res,
  VERSION_NEUTRAL,
  ConfigurableModuleBuilder,
} from '@nestjs/common';
import {
  collectDefaultMetrics,
  type Metric,
  Registry,
  type OpenMetricsContentType,
  type PrometheusContentType,
} from 'prom-client';
import { Purge } from '../orders';
import { PaymentObservers, PaymentProviders } from '../payments';
import { TimeoutObservers } from '../timeouts';
import { EngineMetrics, PaymentMetrics, PurgeMetrics, StateMetrics } from './state-metrics';
import { ServiceState } from './service-state';

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: OPERATIONS_OPTIONS } =
  new ConfigurableModuleBuilder<OperationsOptions>().setClassMethodName('forRoot').build();

/**
 * All metrics, in the host's registry or in one of this application, because several applications may run in one
 * process. Each scrape of a registry reads its gauges again.
 */
@Injectable()
export class Metrics implements OnModuleDestroy {
  readonly registry: Registry;
  /** By registered name, because prom-client renames counters in registries of the OpenMetrics format. */
  private readonly ofHost = new Map<string, Metric>();

  /** @internal Payments and purge are absent if the host uses TimeoutsModule alone. */
  constructor(
    observers: TimeoutObservers,
    state: ServiceState,
    @Optional() paymentObservers?: PaymentObservers,
    @Optional() providers?: PaymentProviders,
    @Optional() purge?: Purge,
    @Optional() @Inject(OPERATIONS_OPTIONS) { registry, defaultMetrics = !registry }: OperationsOptions = {},
  ) {
    const own = new Registry();
    observers.add(new EngineMetrics(own, () => state.kinds));
    new StateMetrics(own, state);
    if (purge) new PurgeMetrics(own, purge);
    if (paymentObservers && providers) paymentObservers.add(new PaymentMetrics(own, providers));
    if (defaultMetrics) collectDefaultMetrics({ register: own });
    // The two registry types differ only in their output format.
    this.registry = (registry as Registry | undefined) ?? own;
    if (registry) this.register(own);
  }

  onModuleDestroy(): void {
    for (const [name, metric] of this.ofHost) {
      if (this.registry.getSingleMetric(name) === metric) this.registry.removeSingleMetric(name);
    }
  }

  /** The metrics in the registry's text format. */
  read(): Promise<string> {
    return this.registry.metrics();
  }

  private register(own: Registry): void {
    for (const { name } of own.getMetricsAsArray()) {
      const metric = own.getSingleMetric(name);
      if (!metric) continue;
      this.registry.registerMetric(metric);
      this.ofHost.set(name, metric);
    }
  }
}

/** For Prometheus. Needs no API key. */
@Controller({ path: 'metrics', version: VERSION_NEUTRAL })
export class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  @Get()
  read(@Res({ passthrough: true }) response: { header(name: string, value: string): unknown }): Promise<string> {
    response.header('Content-Type', this.metrics.registry.contentType);
    return this.metrics.read();
  }
}

/** A prom-client registry of either format. */
export type MetricsRegistry = Registry<PrometheusContentType> | Registry<OpenMetricsContentType>;

/** Options of OperationsModule. */
export interface OperationsOptions {
  /** Registry for our metrics, which are removed when the application stops. @default a separate one */
  readonly registry?: MetricsRegistry;
  /** Whether to collect metrics of the process and of Node.js too. @default true, or false with `registry` */
  readonly defaultMetrics?: boolean;
}
