import { Controller, type INestMicroservice, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Ctx, EventPattern, Payload, RmqContext, Transport } from '@nestjs/microservices';
import { type Channel, connect, type ConsumeMessage } from 'amqplib';
import { type OrderEvent } from '../../../src';
import { EventDeserializer } from '../../../src/public/rabbit';
import { createDatabase, type TestDatabase } from '../../support/database';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { type ListeningHost, startHost } from './listening-host';

const taken: string[] = [];

@Controller()
class Warehouse {
  @EventPattern<string>('order.closed')
  closed(@Payload() event: OrderEvent<'closed'>, @Ctx() context: RmqContext): void {
    taken.push(`${event.type} ${event.orderId}`);
    ack(context);
  }

  @EventPattern<string>('order.paid')
  paid(@Payload() event: OrderEvent<'paid'>, @Ctx() context: RmqContext): void {
    taken.push(`${context.getPattern()} ${event.orderId}`);
    ack(context);
  }

  @EventPattern<string>('stock.counted')
  counted(@Payload() { sku }: { readonly sku: string }, @Ctx() context: RmqContext): void {
    taken.push(`stock.counted ${sku}`);
    ack(context);
  }
}

@Module({ controllers: [Warehouse] })
class WarehouseModule {}

function ack(context: RmqContext): void {
  (context.getChannelRef() as Channel).ack(context.getMessage() as unknown as ConsumeMessage);
}

describe('a second Nest application with Transport.RMQ', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let host: ListeningHost;
  let warehouse: INestMicroservice;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    warehouse = await NestFactory.createMicroservice(WarehouseModule, {
      logger: false,
      transport: Transport.RMQ,
      options: {
        urls: [vhost.url],
        queue: 'warehouse',
        queueOptions: { durable: true },
        exchange: 'order-timeout.v1.events',
        exchangeType: 'topic',
        wildcards: true,
        noAck: false,
        deserializer: new EventDeserializer(),
      },
    });
    await warehouse.listen();
    host = await startHost(database, vhost, []);
  });
  afterAll(async () => {
    await host.app.close();
    await warehouse.close();
    await Promise.all([database.drop(), vhost.drop()]);
  });

  it('takes our events by @EventPattern, and acknowledges them', async () => {
    const [paid, closed] = [await host.place(), await host.place({ paymentWindowMs: 100 })];
    await host.pay(paid);
    await until(() => taken.length === 2);
    expect([...taken].sort()).toEqual([`order.closed ${closed}`, `order.paid ${paid}`]);
    await until(async () => {
      const queue = await vhost.manage<{ messages?: number; messages_unacknowledged?: number }>(
        'GET',
        `/queues/${vhost.name}/warehouse`,
      );
      return queue.messages === 0 && queue.messages_unacknowledged === 0;
    });
  });

  it('still takes the messages of other Nest applications', async () => {
    const broker = await connect(vhost.url);
    const channel = await broker.createConfirmChannel();
    channel.sendToQueue('warehouse', Buffer.from(JSON.stringify({ pattern: 'stock.counted', data: { sku: 'apple' } })));
    await channel.waitForConfirms();
    await until(() => taken.includes('stock.counted apple'));
    await broker.close();
  });
});
