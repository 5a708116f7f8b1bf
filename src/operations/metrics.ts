import { Injectable, Optional } from '@nestjs/common';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { Purge } from '../orders';
import { PaymentObservers, PaymentProviders } from '../payments';
import { TimeoutObservers } from '../timeouts';
import { EngineMetrics } from './engine-metrics';
import { PaymentMetrics } from './payment-metrics';
import { PurgeMetrics } from './purge-metrics';
import { ServiceState } from './service-state';
import { StateMetrics } from './state-metrics';

/** Everything Prometheus is told, in a registry of this application's own: several may run in one process. */
@Injectable()
export class Metrics {
  readonly registry = new Registry();
  private readonly state: StateMetrics;
  private readonly payments: PaymentMetrics | undefined;

  /** Without payments and purge where a host uses TimeoutsModule alone. */
  constructor(
    observers: TimeoutObservers,
    state: ServiceState,
    @Optional() paymentObservers?: PaymentObservers,
    @Optional() providers?: PaymentProviders,
    @Optional() purge?: Purge,
  ) {
    collectDefaultMetrics({ register: this.registry });
    observers.add(new EngineMetrics(this.registry));
    this.state = new StateMetrics(this.registry, state);
    if (purge) new PurgeMetrics(this.registry, purge);
    if (!paymentObservers || !providers) return;
    this.payments = new PaymentMetrics(this.registry, providers);
    paymentObservers.add(this.payments);
  }

  /** The exposition text. */
  async read(): Promise<string> {
    await this.state.refresh();
    this.payments?.refresh();
    return this.registry.metrics();
  }
}
