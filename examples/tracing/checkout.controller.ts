import { Controller, Post } from '@nestjs/common';
import { trace } from '@opentelemetry/api';
import { Orders } from 'nestjs-order-timeout';

export interface Checkout {
  readonly orderId: string;
  /** Trace id of the request. */
  readonly traceId: string;
}

@Controller('checkout')
export class CheckoutController {
  constructor(private readonly orders: Orders) {}

  @Post()
  async buy(): Promise<Checkout> {
    const id = `traced-${Date.now()}`;
    const lines = [{ sku: 'apple', quantity: 2, unitAmount: 2100 }];
    const attempt = { provider: 'bank', reference: `pay-${id}` };
    const { outcome } = await this.orders.place({ id, amount: 4200, currency: 'EUR', lines, attempt });
    if (outcome !== 'placed') throw new Error(`order ${id}: ${outcome}`);
    return { orderId: id, traceId: trace.getActiveSpan()?.spanContext().traceId ?? '' };
  }
}
