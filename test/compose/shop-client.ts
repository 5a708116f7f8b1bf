import { randomUUID } from 'node:crypto';
import { answerOf } from '../support/until';
import { urlOf } from './compose-project';

/** An entry of the history of an order. */
export interface HistoryEntry {
  readonly to: string;
  readonly cause: string;
  readonly occurredAt: string;
}

export interface Order {
  readonly id: string;
  readonly status: string;
  readonly expiresAt: string;
}

/** A shop that calls the service in a container. Containers get another port when they start again, so it asks each time. */
export class ShopClient {
  constructor(
    private readonly service: string,
    private readonly key = 'local-key',
  ) {}

  /** Sends a request. Returns the status and the body. */
  async send(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }> {
    const response = await fetch(`${await urlOf(this.service)}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.key}`, 'content-type': 'application/json', connection: 'close' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text };
  }

  /** Places an order for an apple. Returns its id. */
  async place(paymentWindowMs: number): Promise<string> {
    const id = `o-${randomUUID()}`;
    const lines = [{ sku: 'apple', quantity: 1, unitAmount: 100 }];
    await this.expect(200, 'PUT', '/inventory/apple', { onHand: 1_000 });
    await this.expect(201, 'POST', '/orders', { id, amount: 100, currency: 'EUR', paymentWindowMs, lines });
    return id;
  }

  /** Resolves with the entry of the order's history that closed it. It reads no order: that would close one that is due. */
  closing(id: string, limitMs = 60_000): Promise<HistoryEntry> {
    return answerOf(`the closing of ${id}`, limitMs, undefined, async () => {
      const answer = await this.send('GET', `/orders/${id}/history`).catch(() => undefined);
      return answer?.status === 200 ? (answer.body as HistoryEntry[]).find(({ to }) => to === 'CLOSED') : undefined;
    });
  }

  async order(id: string): Promise<Order> {
    return (await this.expect(200, 'GET', `/orders/${id}`)) as Order;
  }

  /** Resolves with what the service says of itself when its message path is up. */
  untilReady(): Promise<{ status: string; transport?: string }> {
    return answerOf(`${this.service} ready`, 120_000, undefined, async () => {
      const answer = await this.send('GET', '/health/ready').catch(() => undefined);
      const body = answer?.body as { status: string; transport?: string } | undefined;
      return body?.status === 'ready' ? body : undefined;
    });
  }

  private async expect(status: number, method: string, path: string, body?: object): Promise<unknown> {
    const answer = await this.send(method, path, body);
    if (answer.status === status) return answer.body;
    throw new Error(`${method} ${path} was answered with ${answer.status}: ${JSON.stringify(answer.body)}`);
  }
}
