import { createHash } from 'node:crypto';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { OperationsModule, OrderTimeoutModule, PreparingClient } from 'nestjs-order-timeout';
import { DataSource } from 'typeorm';
import { Basket } from './basket.js';
import { blankPay } from './blank-pay.js';
import { Greetings } from './greetings.js';

export const API_KEY = 'key-of-the-shop';
const HASH = createHash('sha256').update(API_KEY).digest('hex');

/** An application that has the module inside, with everything that the module can do. */
@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env['DATABASE_URL'] ?? '',
      entities: [Basket],
      synchronize: true,
      connectTimeoutMS: 10_000,
      extra: { Client: PreparingClient, query_timeout: 60_000, keepAlive: true },
    }),
    OrderTimeoutModule.forRootAsync({
      http: true,
      path: 'shop',
      inject: [DataSource],
      useFactory: (dataSource: DataSource) => ({
        dataSource,
        rabbit: { urls: (process.env['RABBITMQ_URLS'] ?? '').split(','), queueType: 'classic' },
        providers: [blankPay],
        apiKeys: [`shop:${HASH}:*`],
      }),
    }),
    OperationsModule,
  ],
  providers: [Greetings],
})
export class ShopModule {}
