import { type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { Orders, OrderTimeoutModule } from '../../../src';
import { TcpProxy } from '../../support/servers/tcp-proxy';
import { createDatabase, type TestDatabase } from '../../support/database';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

describe('a host whose DataSource reads from replicas', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let replica: TcpProxy;
  let dataSource: DataSource;
  let app: INestApplication;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    replica = await TcpProxy.open(database.url);
    const replication = { master: { url: database.url }, slaves: [{ url: replica.url }] };
    dataSource = await new DataSource({ type: 'postgres', replication }).initialize();
    const rabbit = { urls: [vhost.url], queueType: 'classic' as const };
    @Module({ imports: [OrderTimeoutModule.forRoot({ dataSource, rabbit })] })
    class Host {}
    app = await NestFactory.create(Host, { logger: false, abortOnError: false });
    await app.init();
    replica.refuse();
  });

  afterAll(async () => {
    await app.close();
    if (dataSource.isInitialized) await dataSource.destroy();
    await replica.shut();
    await database.drop();
    await vhost.drop();
  });

  it('sends every statement of the product to the primary, because a replica lags behind what is due', async () => {
    const orders = app.get(Orders);
    const id = 'order-1';
    const placed = await orders.place({ id, amount: 100, currency: 'EUR', paymentWindowMs: 200, lines: [] });
    expect(placed.outcome).toBe('placed');
    await until(async () => (await orders.get(id))?.status === 'CLOSED');
    expect((await orders.history(id)).map(({ to }) => to)).toEqual(['PENDING', 'CLOSED']);
  });
});
