import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { Inventory, Orders, OrderTimeoutModule } from '../../../src';
import { connectTo } from '../../support/database';
import { HangingListener } from './hanging-listener';

/** Run as a process: an application whose listener hangs in the event of the order that it cancels. */
async function main(): Promise<void> {
  const { DATABASE = '', BROKER = '' } = process.env;
  const dataSource = await connectTo(DATABASE, 8);
  const rabbit = { urls: [BROKER], queueType: 'classic' as const };
  @Module({
    imports: [OrderTimeoutModule.forRoot({ dataSource, rabbit, transport: 'none' })],
    providers: [HangingListener, { provide: DataSource, useValue: dataSource }],
  })
  class Host {}
  const app = await NestFactory.create(Host, { logger: false });
  await app.init();
  await app.get(Inventory).setStock(dataSource.manager, 'apple', 10);
  const lines = [{ sku: 'apple', quantity: 1, unitAmount: 100 }];
  await app.get(Orders).place({ id: 'killed', amount: 100, currency: 'EUR', lines });
  await app.get(Orders).cancel({ orderId: 'killed' });
}

void main();
