import { Injectable, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { OnOrderInTransaction, type OrderEvent, Orders, OrderTimeoutModule } from 'nestjs-order-timeout';
import { DataSource, type EntityManager } from 'typeorm';

const HOLD = `
  WITH taken AS (
    UPDATE product SET available = available - $3::int WHERE sku = $2 AND available >= $3::int RETURNING sku)
  INSERT INTO hold (order_id, sku, quantity) SELECT $1, sku, $3::int FROM taken RETURNING sku`;

const RELEASE = `
  WITH freed AS (DELETE FROM hold WHERE order_id = ANY ($1) RETURNING sku, quantity)
  UPDATE product SET available = available + total.quantity
    FROM (SELECT sku, sum(quantity)::int AS quantity FROM freed GROUP BY sku) total WHERE product.sku = total.sku`;

@Injectable()
export class Checkout {
  constructor(
    private readonly dataSource: DataSource,
    private readonly orders: Orders,
  ) {}

  /** Takes the goods and places the order, or does neither. */
  async buy(orderId: string, sku: string, quantity: number): Promise<void> {
    await this.dataSource.transaction(async (tx) => {
      const held = await tx.query<unknown[]>(HOLD, [orderId, sku, quantity]);
      if (held.length === 0) throw new Error(`not enough ${sku}`);
      const { outcome } = await this.orders.place({ id: orderId, amount: 2100 * quantity, currency: 'EUR' }, { tx });
      if (outcome !== 'placed') throw new Error(`order ${orderId}: ${outcome}`);
    });
  }
}

@Injectable()
export class StockOfOrders {
  @OnOrderInTransaction(['closed', 'cancelled'])
  async release(events: OrderEvent<'closed' | 'cancelled'>[], tx: EntityManager): Promise<void> {
    await tx.query(RELEASE, [events.map(({ orderId }) => orderId)]);
  }

  @OnOrderInTransaction('paid')
  async sell(events: OrderEvent<'paid'>[], tx: EntityManager): Promise<void> {
    await tx.query('DELETE FROM hold WHERE order_id = ANY ($1)', [events.map(({ orderId }) => orderId)]);
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL ?? 'postgresql://localhost/shop_test' }),
    OrderTimeoutModule.forRootAsync({
      inject: [DataSource],
      useFactory: (dataSource: DataSource) => ({
        dataSource,
        rabbit: { urls: (process.env.RABBITMQ_URLS ?? '').split(',') },
        orders: { latePayment: 'refund' }, // a late payment must not revive an order whose stock you gave back
      }),
    }),
  ],
  providers: [Checkout, StockOfOrders],
})
export class ShopModule {}
