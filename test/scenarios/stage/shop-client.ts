import { setTimeout as sleep } from 'node:timers/promises';
import { Patience } from '../../support/machine-load';
import { httpJson, type JsonAnswer } from '../../support/shop/http-json';

/** For how long, and how often, a shop asks a service that is too busy. */
const PATIENCE_MS = 20_000;
const PAUSE_MS = 200;

interface Attempt {
  readonly provider: string;
  readonly reference: string;
  readonly merchantAccount: string;
  readonly timeExpire?: string;
}

interface OrderBody {
  readonly id: string;
  readonly merchantId: string;
  readonly amount: number;
  readonly currency: string;
  readonly paymentWindowMs: number;
  readonly lines: readonly unknown[];
  readonly autoClose: boolean;
}

interface Payment {
  readonly provider: string;
  readonly reference: string;
  readonly merchantAccount: string;
  readonly amount: number;
  readonly currency: string;
}

/** A shop that speaks to one process of the service. */
export class ShopClient {
  constructor(
    readonly url: string,
    private readonly apiKey: string,
  ) {}

  async setStock(sku: string, onHand: number): Promise<void> {
    await this.send('PUT', `/inventory/${encodeURIComponent(sku)}`, { onHand });
  }

  /** @returns the buyer's deadline. */
  async place(order: OrderBody): Promise<Date> {
    const { status, text } = await this.ask('POST', '/orders', order);
    if (status >= 300) throw new Error(`POST /orders: ${status} ${text}`);
    return new Date((JSON.parse(text) as { expiresAt: string }).expiresAt);
  }

  /** @returns false: the order takes no attempt any more. */
  async tryRegister(orderId: string, attempt: Attempt): Promise<boolean> {
    const { status, text } = await this.ask('POST', `/orders/${orderId}/attempts`, attempt);
    if (status === 409) return false;
    if (status >= 300) throw new Error(`attempt of ${orderId}: ${status} ${text}`);
    return true;
  }

  /** @returns the code of the refusal; undefined: the attempt is registered. */
  async refusalOf(orderId: string, attempt: Attempt): Promise<string | undefined> {
    const { status, text } = await this.ask('POST', `/orders/${orderId}/attempts`, attempt);
    return status < 300 ? undefined : (JSON.parse(text) as { code: string }).code;
  }

  /** Reports a payment. @returns the outcome. */
  async report(orderId: string, payment: Payment): Promise<string> {
    const { status, text } = await this.ask('POST', `/orders/${orderId}/paid`, payment);
    if (status >= 300) throw new Error(`payment of ${orderId}: ${status} ${text}`);
    return (JSON.parse(text) as { outcome: string }).outcome;
  }

  /** @returns false: it can not be cancelled any more. */
  async cancel(orderId: string): Promise<boolean> {
    const { status, text } = await this.ask('POST', `/orders/${orderId}/cancel`, {});
    if (status === 409) return false;
    if (status !== 200) throw new Error(`cancel of ${orderId}: ${status} ${text}`);
    return true;
  }

  /** @returns false: the deadline has passed. */
  async tryExtend(orderId: string, byMs: number): Promise<boolean> {
    const { status, text } = await this.ask('POST', `/orders/${orderId}/extend`, { byMs });
    if (status === 409) return false;
    if (status >= 300) throw new Error(`extend of ${orderId}: ${status} ${text}`);
    return true;
  }

  async replay(timeouts: readonly { readonly kind: string; readonly key: string }[]): Promise<void> {
    await this.send('POST', '/timeouts/parked/replay', { timeouts });
  }

  async metrics(): Promise<string> {
    return (await this.ask('GET', '/metrics')).text;
  }

  private async send(method: string, path: string, body: unknown): Promise<void> {
    const { status, text } = await this.ask(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
  }

  /** Again where another transaction held what it needs: then nothing was done. */
  private async ask(method: string, path: string, body?: unknown): Promise<JsonAnswer> {
    const patience = new Patience(PATIENCE_MS);
    for (;;) {
      const answer = await httpJson(method, this.url + path, body, { 'x-api-key': this.apiKey });
      if (!isBusy(answer) || patience.leftMs <= 0) return answer;
      await sleep(PAUSE_MS);
    }
  }
}

function isBusy({ status, text }: JsonAnswer): boolean {
  return status === 503 && text.includes('"BUSY"');
}
