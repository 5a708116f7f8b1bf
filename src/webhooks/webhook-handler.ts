import { Logger } from '@nestjs/common';
import { type Clock } from '../clock';
import { FailureLog } from '../errors';
import { DONE, type DueTimeout, LOOK_UP, type TimeoutHandlerBatch, type TimeoutOutcome } from '../timeouts';
import { judgeResponse, type WebhookVerdict } from './judge-response';
import { type ResolvedEndpoint } from './resolve-webhook-options';
import { WebhookClient } from './webhook-client';
import { WebhookSigner } from './webhook-signer';

/** Share of a wait that is added at random, so that what failed together does not come back together. */
const JITTER = 0.1;

/** Sends the events of one endpoint, as look-ups: outside any transaction, under a lease. */
export class WebhookHandler implements TimeoutHandlerBatch<WebhookVerdict> {
  private readonly failures: FailureLog;
  private readonly signer: WebhookSigner;
  private readonly client: WebhookClient;

  constructor(
    endpoint: ResolvedEndpoint,
    private readonly retryDelaysMs: readonly number[],
    private readonly clock: Clock,
  ) {
    this.failures = new FailureLog(new Logger(`Webhook:${endpoint.name}`));
    this.signer = new WebhookSigner(endpoint.secrets);
    this.client = new WebhookClient(endpoint);
  }

  /** Closes idle connections. */
  close(): void {
    this.client.close();
  }

  handleBatch(timeouts: readonly DueTimeout<WebhookVerdict>[]): Promise<TimeoutOutcome[]> {
    return Promise.resolve(timeouts.map((due) => this.outcomeOf(due)));
  }

  /** Rejects only when `signal` aborts. The engine would take a network error for one of the database and count nothing. */
  async lookUp({ key: eventId, payload }: DueTimeout, signal: AbortSignal): Promise<WebhookVerdict> {
    const body = JSON.stringify(payload);
    const headers = { ...HEADERS, ...this.signer.headers(eventId, this.clock.now(), body) };
    const verdict = await this.client
      .post(body, { ...headers, 'content-length': String(Buffer.byteLength(body)) }, signal)
      .then((response) => judgeResponse(response, this.clock.now()))
      .catch((error: unknown): WebhookVerdict => {
        if (signal.aborted) throw error;
        return { type: 'failed', reason: error instanceof Error ? error.message : String(error) };
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
        const delayMs = this.retryDelaysMs[attempts] ?? 0;
        const afterMs = Math.max(Math.round(delayMs * (1 + JITTER * Math.random())), retryAfterMs);
        return { type: 'retry', counted: true, reason, afterMs };
      }
    }
  }
}

const HEADERS = { 'content-type': 'application/json', 'user-agent': 'nestjs-order-timeout' } as const;
