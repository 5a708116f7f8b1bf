import { Injectable } from '@nestjs/common';
import { assessReadiness, type Readiness } from './assess-readiness';
import { ServiceState } from './service-state';

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
