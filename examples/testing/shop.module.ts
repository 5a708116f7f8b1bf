import { Injectable, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Orders, OrderTimeoutModule, SystemClock } from 'nestjs-order-timeout';
import { HttpPaymentProvider } from 'nestjs-order-timeout/payments';
import { DataSource } from 'typeorm';

@Injectable()
export class Checkout {
  constructor(private readonly orders: Orders) {}

  async buyTwoApples(orderId: string): Promise<void> {
    const lines = [{ sku: 'apple', quantity: 2, unitAmount: 2100 }];
    const attempt = { provider: 'bank', reference: `pay-${orderId}` };
    const { outcome } = await this.orders.place({ id: orderId, amount: 4200, currency: 'EUR', lines, attempt });
    if (outcome !== 'placed') throw new Error(`order ${orderId}: ${outcome}`);
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
        orders: { paymentWindowMs: 30 * 60_000, reminderOffsetsMs: [5 * 60_000] },
        providers: [
          new HttpPaymentProvider(
            { name: 'bank', baseUrl: 'https://bank.example', secret: process.env.BANK_SECRET ?? 'not-used-in-tests' },
            new SystemClock(),
          ),
        ],
      }),
    }),
  ],
  providers: [Checkout],
})
export class ShopModule {}
