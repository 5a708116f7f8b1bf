import { setTimeout as sleep } from 'node:timers/promises';
import { RunError } from '../../../test/harness/run-error';
import { RefusedError } from './refused-error';
import { type OrderRequest, type PaymentReport, type ShopChannel } from './shop-channel';

/** Longer than the service is down when it is killed and started again. */
const PATIENCE_MS = 20_000;
const PAUSE_MS = 200;
const REQUEST_LIMIT_MS = 10_000;

/** A shop that speaks HTTP. Repeats what got no answer: every request is idempotent. */
export class HttpChannel implements ShopChannel {
  constructor(
    private readonly base: string,
    private readonly apiKey: string,
    private readonly signal: AbortSignal,
  ) {}

  async place(order: OrderRequest): Promise<void> {
    await this.send('POST', '/orders', order);
  }

  async reportPaid({ orderId, ...payment }: PaymentReport): Promise<void> {
    await this.send('POST', `/orders/${orderId}/paid`, payment);
  }

  async cancel(orderId: string): Promise<void> {
    await this.send('POST', `/orders/${orderId}/cancel`, { reason: 'the buyer changed his mind' });
  }

  async moveDeadline(orderId: string, expiresAt: Date): Promise<void> {
    await this.send('POST', `/orders/${orderId}/extend`, { expiresAt });
  }

  async setStock(sku: string, onHand: number): Promise<void> {
    await this.send('PUT', `/inventory/${encodeURIComponent(sku)}`, { onHand });
  }

  private async send(method: string, path: string, body: unknown): Promise<void> {
    const endsAt = performance.now() + PATIENCE_MS;
    for (;;) {
      const answer = await this.tryOnce(method, path, body);
      if (answer.type === 'accepted') return;
      if (answer.type === 'refused') throw new RefusedError(answer.code, `${method} ${path}: ${answer.reason}`);
      if (performance.now() > endsAt) throw new RunError(`${method} ${path} got no answer: ${answer.reason}`);
      await sleep(PAUSE_MS, undefined, { signal: this.signal });
    }
  }

  private async tryOnce(method: string, path: string, body: unknown): Promise<HttpAnswer> {
    const headers = { 'content-type': 'application/json', 'x-api-key': this.apiKey };
    try {
      const signal = AbortSignal.any([this.signal, AbortSignal.timeout(REQUEST_LIMIT_MS)]);
      const response = await fetch(this.base + path, { method, headers, body: JSON.stringify(body), signal });
      const text = await response.text();
      if (response.ok) return { type: 'accepted' };
      if (response.status >= 500) return { type: 'again', reason: `${response.status} ${text}` };
      const { code, detail } = JSON.parse(text) as { code: string; detail?: string };
      return { type: 'refused', code, reason: `${response.status} ${code}: ${detail ?? ''}` };
    } catch (error) {
      this.signal.throwIfAborted();
      return { type: 'again', reason: error instanceof Error ? error.message : String(error) };
    }
  }
}

type HttpAnswer =
  | { readonly type: 'accepted' }
  | { readonly type: 'refused'; readonly code: string; readonly reason: string }
  /** Nobody answered, or the service had trouble. */
  | { readonly type: 'again'; readonly reason: string };
