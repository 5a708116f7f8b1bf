import { Injectable } from '@nestjs/common';
import { Orders } from 'nestjs-order-timeout';
import { DataSource } from 'typeorm';
import { RefusedError } from '../channels/refused-error';
import { type OrderRequest, type PaymentReport, type ShopChannel } from '../channels/shop-channel';
import { Basket } from './basket';

/** Every so manieth checkout fails after the order was placed, and is repeated: nothing may remain of the failed one. */
const FAILS_EVERY = 10;

class PaymentPageDown extends Error {}

/** A shop that imports the module: its basket and the order are one transaction. */
@Injectable()
export class Shop implements ShopChannel {
  private checkouts = 0;

  constructor(
    private readonly dataSource: DataSource,
    private readonly orders: Orders,
  ) {}

  async place(order: OrderRequest): Promise<void> {
    this.checkouts += 1;
    if (this.checkouts % FAILS_EVERY === 0) {
      // A checkout that is rolled back. Its id never comes again, so an order under it would be found.
      const { id, amount, currency, expiresAt, lines } = order;
      await this.checkout({ id: `${id}-rolled-back`, amount, currency, expiresAt, lines }, true);
    }
    await this.checkout(order, false);
  }

  async reportPaid(payment: PaymentReport): Promise<void> {
    const { outcome } = await this.orders.markPaid(payment);
    if (outcome !== 'paid' && outcome !== 'already-paid')
      throw new RefusedError(outcome, `payment of ${payment.orderId}: ${outcome}`);
  }

  async cancel(orderId: string): Promise<void> {
    const result = await this.orders.cancel({ orderId, reason: 'the buyer changed his mind' });
    if (result.outcome === 'rejected') throw new RefusedError(result.code, `${orderId}: ${result.code}`);
  }

  async moveDeadline(orderId: string, expiresAt: Date): Promise<void> {
    const result = await this.orders.extendDeadline({ orderId, expiresAt });
    if (result.outcome === 'rejected') throw new RefusedError(result.code, `${orderId}: ${result.code}`);
  }

  private async checkout(order: OrderRequest, fails: boolean): Promise<void> {
    const pieces = order.lines.reduce((sum, { quantity }) => sum + quantity, 0);
    const work = this.dataSource.transaction(async (tx) => {
      await tx.insert(Basket, { orderId: order.id, pieces });
      const result = await this.orders.place(order, { by: { cause: 'api', actor: 'demo-shop' }, tx });
      if (result.outcome !== 'placed') throw new RefusedError('NOT_PLACED', JSON.stringify(result));
      if (fails) throw new PaymentPageDown();
    });
    await work.catch((error: unknown) => {
      if (!(error instanceof PaymentPageDown)) throw error;
    });
  }
}
