import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { TimeoutObservers } from '../timeouts';
import { EngineMetrics } from './engine-metrics';
import { ServiceState } from './service-state';
import { StateMetrics } from './state-metrics';

/** Everything Prometheus is told, in a registry of this application's own: several may run in one process. */
@Injectable()
export class Metrics {
  readonly registry = new Registry();
  private readonly state: StateMetrics;

  constructor(observers: TimeoutObservers, state: ServiceState) {
    collectDefaultMetrics({ register: this.registry });
    observers.add(new EngineMetrics(this.registry));
    this.state = new StateMetrics(this.registry, state);
  }

  /** The exposition text. */
  async read(): Promise<string> {
    await this.state.refresh();
    return this.registry.metrics();
  }
}
