import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { OrderTimeoutModule, PreparingClient } from 'nestjs-order-timeout';
import { DataSource } from 'typeorm';
import { Bank } from './bank';
import { CheckoutController } from './checkout.controller';
import { OrderWatch } from './order-watch';

/** Beside what else uses these servers. */
const OWN = { schema: 'tracing_example', prefix: 'tracing-example.v1' };

@Module({ controllers: [CheckoutController], providers: [OrderWatch] })
export class ShopModule {
  /** @param paymentWindowMs how long a buyer may take, milliseconds */
  static closingAfter(paymentWindowMs: number): DynamicModule {
    const { DATABASE_URL: url = 'postgresql://localhost/shop', RABBITMQ_URLS: urls = 'amqp://localhost' } = process.env;
    const pool = {
      connectTimeoutMS: 10_000,
      extra: { Client: PreparingClient, query_timeout: 60_000, keepAlive: true },
    };
    const module = OrderTimeoutModule.forRootAsync({
      inject: [DataSource],
      useFactory: (dataSource: DataSource) => ({
        ...{ dataSource, schema: OWN.schema, rabbit: { urls: urls.split(','), prefix: OWN.prefix } },
        ...{ orders: { paymentWindowMs }, providers: [new Bank()] },
      }),
    });
    return { module: ShopModule, imports: [TypeOrmModule.forRoot({ type: 'postgres', url, ...pool }), module] };
  }
}
