import { type OnApplicationShutdown } from '@nestjs/common';
import { type Clock } from '../clock';
import { deliveryLimits, type OrderListeners } from '../orders';
import { registeredHandler, type TimeoutEngine, type TimeoutScheduler } from '../timeouts';
import { RemovedEndpointHandler } from './removed-endpoint-handler';
import { type ResolvedEndpoint, type ResolvedWebhookOptions } from './resolve-webhook-options';
import { WebhookHandler } from './webhook-handler';

/** Start of the kinds whose timeouts are webhook deliveries. The rest is the endpoint's name. */
export const WEBHOOK_KIND = 'order-webhook.';

interface Dependencies {
  readonly options: ResolvedWebhookOptions | undefined;
  readonly listeners: Pick<OrderListeners, 'subscribe'>;
  readonly engine: Pick<TimeoutEngine, 'register'>;
  readonly scheduler: Pick<TimeoutScheduler, 'pendingKinds'>;
  readonly clock: Clock;
}

/** Delivers order events to endpoints. Each has a kind of timeouts, so that a dead one does not delay the others. */
export class Webhooks implements OnApplicationShutdown {
  private readonly handlers: WebhookHandler[] = [];

  constructor(private readonly deps: Dependencies) {}

  /** Call it before the engine starts. */
  register(): void {
    for (const endpoint of this.deps.options?.endpoints ?? []) this.add(endpoint);
  }

  /** Takes care of what is left for endpoints that were removed. Reads the database. */
  async registerRemoved(): Promise<void> {
    const { engine, scheduler, clock, options } = this.deps;
    const configured = new Set(options?.endpoints.map(({ name }) => `${WEBHOOK_KIND}${name}`));
    for (const kind of await scheduler.pendingKinds()) {
      if (!kind.startsWith(WEBHOOK_KIND) || configured.has(kind)) continue;
      engine.register([registeredHandler(kind, new RemovedEndpointHandler(kind.slice(WEBHOOK_KIND.length), clock))]);
    }
  }

  /** Closes idle connections. The engine has stopped before. */
  onApplicationShutdown(): void {
    for (const handler of this.handlers) handler.close();
  }

  private add(endpoint: ResolvedEndpoint): void {
    const { options, listeners, engine, clock } = this.deps;
    if (!options) return;
    const { retryDelaysMs, timeoutMs } = options;
    const kind = `${WEBHOOK_KIND}${endpoint.name}`;
    const handler = new WebhookHandler(endpoint, retryDelaysMs, clock);
    const limits = { concurrency: endpoint.concurrency, timeoutMs, maxAttempts: retryDelaysMs.length + 1 };
    engine.register([registeredHandler(kind, handler, deliveryLimits(limits))]);
    listeners.subscribe(endpoint.events, kind);
    this.handlers.push(handler);
  }
}
