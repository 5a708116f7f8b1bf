import { type INestApplicationContext, type LoggerService, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';
import {
  type DelayTransportSetting,
  Inventory,
  type NewOrder,
  OrderTimeoutModule,
  type OrderTimeoutOptions,
  Orders,
  PreparingClient,
} from '../../src';
import { type Ring } from '../contestant';
import { ON_HAND, SKUS, skuOf } from './new-orders';

/** The service's own default. */
const POOL_SIZE = 20;

const ignore = (): void => undefined;
const SILENT: LoggerService = {
  log: ignore,
  warn: ignore,
  error: (line: unknown) => process.stderr.write(`${String(line)}\n`),
};

/** A host application that has the library inside and leaves the closing to the service. */
export interface Shop {
  readonly dataSource: DataSource;
  readonly context: INestApplicationContext;
  /** One transaction. @throws when one of them is not placed. */
  place(orders: readonly NewOrder[]): Promise<void>;
  close(): Promise<void>;
}

@Module({})
class ShopModule {}

/** Brings the tables up to date and fills the shelves. */
export async function openShop(
  ring: Ring,
  transport: DelayTransportSetting,
  options: Partial<OrderTimeoutOptions> = {},
): Promise<Shop> {
  const dataSource = await new DataSource({
    type: 'postgres',
    url: ring.databaseUrl,
    poolSize: POOL_SIZE,
    entities: [],
    extra: { Client: PreparingClient },
  }).initialize();
  const library = OrderTimeoutModule.forRoot({
    dataSource,
    rabbit: { urls: [ring.amqpUrl] },
    transport,
    consume: false,
    ...options,
  });
  const context = await NestFactory.createApplicationContext(
    { module: ShopModule, imports: [library] },
    { logger: SILENT, abortOnError: false },
  );
  await fillShelves(context, dataSource);
  const shop = context.get(Orders);
  return {
    ...{ dataSource, context },
    place: async (orders) => {
      const results = await shop.placeMany(orders);
      const refused = results.find(({ outcome }) => outcome !== 'placed');
      if (refused) throw new Error(`an order was not placed: ${JSON.stringify(refused)}`);
    },
    close: async () => {
      await context.close();
      await dataSource.destroy();
    },
  };
}

async function fillShelves(context: INestApplicationContext, dataSource: DataSource): Promise<void> {
  const inventory = context.get(Inventory);
  await dataSource.transaction(async (tx) => {
    for (let number = 0; number < SKUS; number += 1) await inventory.setStock(tx, skuOf(number), ON_HAND);
  });
}

/** Places orders in bulk, `size` a transaction, two transactions at a time. */
export async function placeInBulk(shop: Shop, orders: readonly NewOrder[], size: number): Promise<void> {
  const starts = Array.from({ length: Math.ceil(orders.length / size) }, (_, index) => index * size).values();
  const lane = async (): Promise<void> => {
    for (const start of starts) await shop.place(orders.slice(start, start + size));
  };
  await Promise.all([lane(), lane()]);
}
