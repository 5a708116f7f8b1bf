import { type Server } from 'node:http';
import { type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import request from 'supertest';
import { DataSource } from 'typeorm';
import { Inventory, Orders, OrderTimeoutModule, type OrderTimeoutOptions } from '../../src';
import { createDatabase, onServer, type TestDatabase, urlOf } from '../support/database';
import { until } from '../support/engine';
import { createVhost, type TestVhost } from '../support/rabbit-vhost';
import { anOrder } from './running-service';

const requestTo = (app: INestApplication) => request(app.getHttpServer() as Server);

describe('a host that imports the module', () => {
  let databases: TestDatabase[];
  let vhost: TestVhost;
  let apps: INestApplication[];

  beforeAll(async () => {
    databases = await Promise.all([createDatabase(), createDatabase()]);
    vhost = await createVhost();
  });

  beforeEach(() => {
    apps = [];
  });

  afterEach(async () => {
    for (const app of apps) await app.close();
  });

  afterAll(async () => {
    for (const database of databases) await database.drop();
    await vhost.drop();
  });

  const optionsOf = (index: number, prefix: string): OrderTimeoutOptions => ({
    dataSource: databases[index]?.dataSource,
    rabbit: { urls: [vhost.url], queueType: 'classic', prefix },
    transport: 'ladder',
    ladder: { base: 8 },
    horizonMs: 60_000,
  });

  async function start(module: ReturnType<typeof OrderTimeoutModule.forRoot>): Promise<INestApplication> {
    @Module({ imports: [module] })
    class Host {}
    const app = await NestFactory.create(Host, { logger: false, abortOnError: false });
    apps.push(app);
    return app.init();
  }

  it('closes orders through the module API, in two applications of one process', async () => {
    const one = await start(OrderTimeoutModule.forRoot(optionsOf(0, 'one')));
    const two = await start(OrderTimeoutModule.forRootAsync({ useFactory: () => optionsOf(1, 'two') }));
    for (const [index, app] of [one, two].entries()) {
      const manager = (databases[index] as TestDatabase).dataSource.manager;
      await app.get(Inventory).setStock(manager, 'apple', 10);
      const { id, amount, currency, lines } = anOrder();
      const placed = await app.get(Orders).place({ id, amount, currency, lines, paymentWindowMs: 100 });
      expect(placed.outcome).toBe('placed');
      await until(async () => (await app.get(Orders).get(id))?.status === 'CLOSED');
    }
  });

  it('has none of our routes unless it asks for them', async () => {
    const app = await start(OrderTimeoutModule.forRoot(optionsOf(0, 'quiet')));
    await requestTo(app)
      .get('/orders/x')
      .expect(404, /Cannot GET/);
  });

  it('has guarded routes with problems when it asks for them, and its own errors stay its own', async () => {
    const app = await start(OrderTimeoutModule.forRoot({ ...optionsOf(0, 'open'), http: true, apiKeys: 'open' }));
    await requestTo(app)
      .get('/orders/x')
      .expect(404, /ORDER_NOT_FOUND/);
    await requestTo(app)
      .get('/else')
      .expect(404, /Cannot GET/);
  });

  it('serves the documents when it asks for them: of what it has, with its own prefix on the broker', async () => {
    const options = { ...optionsOf(0, 'described'), http: true, contract: true, apiKeys: 'open' } as const;
    const app = await start(OrderTimeoutModule.forRoot(options));
    const { body: openApi } = (await requestTo(app).get('/openapi.json').expect(200)) as { body: { paths: object } };
    expect(Object.keys(openApi.paths)).toContain('/orders/{id}');
    // OperationsModule is not imported.
    expect(Object.keys(openApi.paths)).not.toContain('/health/live');
    const { text: asyncApi } = await requestTo(app).get('/asyncapi.json').expect(200);
    expect(asyncApi).toContain('"described.commands"');
    expect(asyncApi).not.toContain('order-timeout.v1');
  });

  it('serves no documents unless it asks for them, and cannot ask for them without the routes', async () => {
    const app = await start(OrderTimeoutModule.forRoot({ ...optionsOf(0, 'plain'), http: true, apiKeys: 'open' }));
    await requestTo(app).get('/openapi.json').expect(404);
    expect(() => OrderTimeoutModule.forRoot({ ...optionsOf(0, 'none'), contract: true })).toThrow(
      'contract needs http',
    );
  });

  it('cannot boot with bad options, and hears of all of them', async () => {
    const bad = { ...optionsOf(0, 'ä'), horizonMs: 1, http: true };
    await expect(start(OrderTimeoutModule.forRoot(bad))).rejects.toThrow(/3 problems: .*prefix.*horizonMs.*apiKeys/);
  });

  it('gets its tables at the first start, in a schema of its own', async () => {
    const name = `ot_test_empty_${process.pid}`;
    await onServer(`CREATE DATABASE ${name}`);
    const dataSource = await new DataSource({ type: 'postgres', url: urlOf(name), poolSize: 5 }).initialize();
    try {
      const app = await start(
        OrderTimeoutModule.forRoot({ ...optionsOf(0, 'fresh'), dataSource, schema: 'own_schema' }),
      );
      expect(await app.get(Orders).get('x')).toBeUndefined();
      await app.close();
      apps.pop();
    } finally {
      await dataSource.destroy();
      await onServer(`DROP DATABASE ${name} WITH (FORCE)`);
    }
  });
});
