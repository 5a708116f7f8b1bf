import { appendFileSync } from 'node:fs';
import { type DynamicModule, type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { OrderTimeoutModule, PinoLogger } from 'nestjs-order-timeout';
import { DataSource } from 'typeorm';
import { type Transport } from '../demo-options';
import { Basket } from './basket';
import { Shop } from './shop';

interface ShopSettings {
  readonly databaseUrl: string;
  readonly rabbitUrls: readonly string[];
  readonly prefix: string;
  readonly transport: Transport;
  readonly logFile: string;
}

@Module({})
class ShopModule {
  static with({ databaseUrl, rabbitUrls, prefix, transport }: ShopSettings): DynamicModule {
    return {
      module: ShopModule,
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url: databaseUrl, poolSize: 8, entities: [Basket] }),
        OrderTimeoutModule.forRootAsync({
          inject: [DataSource],
          // The service handles the deadlines; the shop only schedules them.
          useFactory: (dataSource: DataSource) => ({
            dataSource,
            rabbit: rabbitUrls.length > 0 ? { urls: rabbitUrls, prefix } : undefined,
            transport,
            consume: false,
            // Only the service knows the payment providers.
            orders: { unknownProviders: 'allow' },
          }),
        }),
      ],
      providers: [Shop],
    };
  }
}

/** Starts a NestJS application that has the product inside. */
export function openShop(settings: ShopSettings): Promise<INestApplicationContext> {
  const logger = new PinoLogger('info', { write: (line: string) => appendFileSync(settings.logFile, line) });
  return NestFactory.createApplicationContext(ShopModule.with(settings), { logger, abortOnError: false });
}
