import { Module, Controller, Get, Header, Res, VERSION_NEUTRAL, Injectable } from '@nestjs/common';
import { Metrics, MetricsController, ConfigurableModuleClass } from './metrics';
import { ServiceState, type MomentaryState } from './service-state';

/** Probes for an orchestrator. Need no API key. */
@Controller({ path: 'health', version: VERSION_NEUTRAL })
export class HealthController {
  constructor(private readonly state: ServiceState) {}

  /** Answers as long as the event loop runs: a restart would fix neither the database nor the broker. */
  @Get('live')
  @Header('Cache-Control', 'no-store')
  live(): { status: 'alive' } {
    return { status: 'alive' };
  }

  /** 200 if requests can be served. That needs the database, but not the broker. */
  @Get('ready')
  @Header('Cache-Control', 'no-store')
  async ready(@Res({ passthrough: true }) response: { status(code: number): unknown }): Promise<Readiness> {
    const readiness = assessReadiness(this.state.now(), await this.state.isDatabaseUp());
    if (readiness.status === 'not-ready') response.status(503);
    return readiness;
  }
}

/**
 * The readiness of the engine as an indicator for `HealthCheckService.check` of `@nestjs/terminus`. It is down where
 * `/health/ready` answers 503: while the engine starts or stops, and while the database does not accept writes.
 */
@Injectable()
export class OrderTimeoutHealthIndicator {
  /** @internal Nest creates it. */
  constructor(private readonly state: ServiceState) {}

  /** Takes at most 2 s. Never rejects. @param key name of the check in the answer */
  async isHealthy<Key extends string = 'order-timeout'>(
    key: Key = 'order-timeout' as Key,
  ): Promise<OrderTimeoutHealth<Key>> {
    const { status: readiness, ...rest } = assessReadiness(this.state.now(), await this.state.isDatabaseUp());
    const status = readiness === 'not-ready' ? 'down' : 'up';
    return { [key]: { status, readiness, ...rest } } as OrderTimeoutHealth<Key>;
  }
}

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

/** What a probe is told. */
export interface Readiness extends Omit<MomentaryState, 'isReady'> {
  /** `degraded`: requests are served, but events are delayed or closings are less punctual. */
  readonly status: 'ready' | 'degraded' | 'not-ready';
  readonly engine: 'ready' | 'starting-or-stopping';
  readonly database: 'up' | 'down';
}

/** Pure: requests need the engine and the database, but not the broker. */
function assessReadiness({ isReady, ...rest }: MomentaryState, isDatabaseUp: boolean): Readiness {
  const isPathFine = rest.messagePath === 'up' || rest.messagePath === 'off';
  const isDegraded = rest.broker === 'down' || !isPathFine || rest.cause !== undefined;
  const status = isReady && isDatabaseUp ? (isDegraded ? 'degraded' : 'ready') : 'not-ready';
  return {
    status,
    engine: isReady ? 'ready' : 'starting-or-stopping',
    database: isDatabaseUp ? 'up' : 'down',
    ...rest,
  };
}

/** A result as `@nestjs/terminus` expects it: one entry under the name of the check. */
export type OrderTimeoutHealth<Key extends string> = Record<
  Key,
  Omit<Readiness, 'status'> & {
    /** `down` makes Terminus answer 503. */
    readonly status: 'up' | 'down';
    /** `degraded`: requests are served, but events are delayed or closings are less punctual. */
    readonly readiness: Readiness['status'];
  }
>;
