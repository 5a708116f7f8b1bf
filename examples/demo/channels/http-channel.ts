import { ShopCaller } from '../../../test/support/shop/shop-caller';
import { RefusedError } from './refused-error';
import { type OrderRequest, type PaymentReport, type ShopChannel } from './shop-channel';

/** A shop that speaks HTTP. Repeats what got no answer: every request is idempotent. */
export class HttpChannel implements ShopChannel {
  private readonly caller: ShopCaller;

  constructor(base: string, apiKey: string, signal: AbortSignal) {
    this.caller = new ShopCaller({
      ...{ urls: () => [base], apiKey, signal },
      // Longer than the service is down when it is killed and started again.
      ...{ patienceMs: 20_000, requestLimitMs: 10_000, pauseMs: 200 },
      isTemporary: (status) => status >= 500,
    });
  }

  place(order: OrderRequest): Promise<void> {
    return this.send('POST', '/orders', order);
  }

  reportPaid({ orderId, ...payment }: PaymentReport): Promise<void> {
    return this.send('POST', `/orders/${orderId}/paid`, payment);
  }

  cancel(orderId: string): Promise<void> {
    return this.send('POST', `/orders/${orderId}/cancel`, { reason: 'the buyer changed his mind' });
  }

  moveDeadline(orderId: string, expiresAt: Date): Promise<void> {
    return this.send('POST', `/orders/${orderId}/extend`, { expiresAt });
  }

  setStock(sku: string, onHand: number): Promise<void> {
    return this.send('PUT', `/inventory/${encodeURIComponent(sku)}`, { onHand });
  }

  private async send(method: string, path: string, body: unknown): Promise<void> {
    const answer = await this.caller.send(method, path, body);
    if (answer.type === 'refused') throw new RefusedError(answer.code, answer.says);
  }
}
