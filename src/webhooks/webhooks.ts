import { type OnApplicationShutdown, Logger } from '@nestjs/common';
import { Webhook } from 'standardwebhooks';
import { type Clock, retryAfterMs } from '../clock';
import { deliveryLimits, type OrderListeners } from '../orders';
import {
  registeredHandler,
  type TimeoutEngine,
  type TimeoutScheduler,
  DONE,
  type DueTimeout,
  LOOK_UP,
  type TimeoutHandlerBatch,
  type TimeoutOutcome,
} from '../timeouts';
import { FailureLog, messageOf } from '../errors';
import { type ResolvedEndpoint, type ResolvedWebhookOptions } from './webhook-options';
import { WebhookClient, type WebhookResponse } from './webhook-client';

/** Start of the kinds whose timeouts are webhook deliveries. The rest is the endpoint's name. */
const WEBHOOK_KIND = 'order-webhook.';

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
    const handler = new WebhookHandler(endpoint, options, clock);
    const limits = { timeoutMs: timeoutMs + MARGIN_MS, maxAttempts: retryDelaysMs.length + 1 };
    engine.register([
      registeredHandler(kind, handler, deliveryLimits({ ...limits, concurrency: endpoint.concurrency })),
    ]);
    listeners.subscribe(endpoint.events, kind);
    this.handlers.push(handler);
  }
}

/** An attempt ends before the engine ends it, which would retry by its own schedule. */
const MARGIN_MS = 1_000;

/** Share of a wait that is added at random, so that what failed together does not come back together. */
const JITTER = 0.1;

/** Sends the events of one endpoint, as look-ups: outside any transaction, under a lease. */
class WebhookHandler implements TimeoutHandlerBatch<WebhookVerdict> {
  private readonly failures: FailureLog;
  private readonly signer: WebhookSigner;
  private readonly client: WebhookClient;

  constructor(
    endpoint: ResolvedEndpoint,
    private readonly options: Pick<ResolvedWebhookOptions, 'timeoutMs' | 'retryDelaysMs'>,
    private readonly clock: Clock,
  ) {
    this.failures = new FailureLog(new Logger(`Webhook:${endpoint.name}`), () => clock.monotonic());
    this.signer = new WebhookSigner(endpoint.secrets);
    this.client = new WebhookClient(endpoint, options.timeoutMs, clock);
  }

  /** Closes idle connections. */
  close(): void {
    this.client.close();
  }

  handleBatch(timeouts: readonly DueTimeout<WebhookVerdict>[]): Promise<TimeoutOutcome[]> {
    return Promise.resolve(timeouts.map((due) => this.outcomeOf(due)));
  }

  /** Rejects only when `signal` aborts. */
  async lookUp({ key: eventId, payload }: DueTimeout, signal: AbortSignal): Promise<WebhookVerdict> {
    const body = JSON.stringify(payload);
    const headers = { ...HEADERS, ...this.signer.headers(eventId, this.clock.now(), body) };
    const verdict = await this.client
      .post(body, { ...headers, 'content-length': String(Buffer.byteLength(body)) }, signal)
      .then((response) => judgeResponse(response, this.clock.now()))
      .catch((error: unknown): WebhookVerdict => {
        if (signal.aborted) throw error;
        return { type: 'failed', reason: messageOf(error) };
      });
    if (verdict.type === 'delivered') this.failures.worked(`accepts events again, first ${eventId}`);
    else this.failures.failed(`event ${eventId} was not accepted: ${verdict.reason}`);
    return verdict;
  }

  private outcomeOf({ answer, attempts }: DueTimeout<WebhookVerdict>): TimeoutOutcome {
    switch (answer?.type) {
      case undefined:
        return LOOK_UP;
      case 'delivered':
        return DONE;
      case 'gone':
        return { type: 'park', reason: answer.reason };
      case 'failed': {
        const { reason, retryAfterMs = 0 } = answer;
        const delayMs = this.options.retryDelaysMs[attempts] ?? 0;
        const afterMs = Math.max(Math.round(delayMs * (1 + JITTER * Math.random())), retryAfterMs);
        return { type: 'retry', counted: true, reason, afterMs };
      }
    }
  }
}

const HEADERS = { 'content-type': 'application/json', 'user-agent': 'nestjs-order-timeout' } as const;

type WebhookVerdict =
  | { readonly type: 'delivered' }
  | { readonly type: 'gone'; readonly reason: string }
  | { readonly type: 'failed'; readonly reason: string; readonly retryAfterMs?: number };

/** The receiver cannot put a delivery off for longer. */
const LONGEST_WAIT_MS = 24 * 3_600_000;

/** Pure. Any status 2xx is a success; 410 says that nothing will ever be accepted; everything else is tried again. */
export function judgeResponse({ status, retryAfter }: WebhookResponse, nowMs: number): WebhookVerdict {
  if (status >= 200 && status < 300) return { type: 'delivered' };
  if (status === 410) return { type: 'gone', reason: 'the endpoint answered 410 Gone; remove it, or replay later' };
  const reason = status >= 300 && status < 400 ? `HTTP ${status}; redirects are not followed` : `HTTP ${status}`;
  const waitMs = retryAfterMs(retryAfter, nowMs, LONGEST_WAIT_MS);
  return { type: 'failed', reason, ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }) };
}

/** Signs webhooks of one endpoint, with each of its secrets. */
export class WebhookSigner {
  private readonly keys: readonly Webhook[];

  constructor(secrets: readonly string[]) {
    this.keys = secrets.map((secret) => new Webhook(secret));
  }

  /** The headers of one attempt. @param id the same at every attempt @param atMs epoch milliseconds */
  headers(id: string, atMs: number, body: string): Record<string, string> {
    const at = new Date(atMs);
    return {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(atMs / 1_000)),
      'webhook-signature': this.keys.map((key) => key.sign(id, at, body)).join(' '),
    };
  }
}

/** Longer than a rollout, in which another instance may have the endpoint already, or still. */
const PATIENCE_MS = 3_600_000;

const PAUSE_MS = 60_000;

/** Keeps deliveries of an endpoint that is not configured here for an hour, and then parks them. */
class RemovedEndpointHandler implements TimeoutHandlerBatch {
  constructor(
    private readonly endpoint: string,
    private readonly clock: Clock,
  ) {}

  handleBatch(timeouts: readonly DueTimeout[]): Promise<TimeoutOutcome[]> {
    const reason = `the webhook endpoint "${this.endpoint}" is not configured; configure it and replay, or discard`;
    const before = this.clock.now() - PATIENCE_MS;
    return Promise.resolve(
      timeouts.map(({ dueAt }) =>
        dueAt.getTime() < before
          ? { type: 'park', reason }
          : { type: 'retry', counted: false, afterMs: PAUSE_MS, reason },
      ),
    );
  }
}
