import { type Server } from 'node:http';
import { type INestApplication, Module, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { collectDefaultMetrics, Counter, type OpenMetricsContentType, Registry } from 'prom-client';
import request from 'supertest';
import { Metrics, OperationsModule, OrderTimeoutModule } from '../../../src';
import { Outbox } from '../../../src/public/rabbit';
import { ParkedTimeouts } from '../../../src/public/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

const PARKED = 'order_timeout_parked{kind="signup"} 1';

type Imported = NonNullable<ModuleMetadata['imports']>[number];

describe('the metrics of a host and ours', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let app: INestApplication | undefined;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
  });

  afterEach(async () => {
    await app?.close();
    app = undefined;
    await database.dataSource.query('TRUNCATE order_timeout.timeout');
  });

  afterAll(async () => {
    await database.drop();
    await vhost.drop();
  });

  async function start(operations: Imported): Promise<INestApplication> {
    const rabbit = { urls: [vhost.url], queueType: 'classic' as const };
    const ours = OrderTimeoutModule.forRoot({ dataSource: database.dataSource, rabbit, transport: 'none' });
    @Module({ imports: [ours, operations] })
    class Host {}
    app = await NestFactory.create(Host, { logger: false, abortOnError: false });
    return app.init();
  }

  const registryOfHost = (): Registry => {
    const registry = new Registry();
    collectDefaultMetrics({ register: registry });
    new Counter({ name: 'shop_baskets_total', help: 'Baskets', registers: [registry] }).inc(3);
    return registry;
  };

  /** What only the database knows, and changes by itself. */
  const addParked = (): Promise<unknown> =>
    database.dataSource.query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at, state)
       VALUES ('signup', 'k', 1, now(), now(), 'parked')`,
    );

  it('share one registry if the host gives its own, and are current at each scrape', async () => {
    const registry = registryOfHost();
    await start(OperationsModule.forRoot({ registry }));
    expect(await registry.metrics()).not.toContain(PARKED);
    await addParked();
    const text = await registry.metrics();
    expect(text).toContain(PARKED);
    expect(text).toContain('order_timeout_database_up 1');
    expect(text).toContain('shop_baskets_total 3');
    expect(text.match(/^process_cpu_user_seconds_total /gm)).toHaveLength(1);
  });

  it('are served together by /metrics, in the format of the host', async () => {
    const registry = new Registry<OpenMetricsContentType>();
    registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    const host = await start(OperationsModule.forRoot({ registry }));
    const { text, headers } = await request(host.getHttpServer() as Server).get('/metrics');
    expect(headers['content-type']).toContain('application/openmetrics-text');
    expect(text).toContain('order_timeout_database_up 1');
    expect(text).toMatch(/# EOF\n$/);
  });

  it('can be merged if default metrics are off, and are current in the merged registry', async () => {
    const host = await start(OperationsModule.forRoot({ defaultMetrics: false }));
    const merged = Registry.merge([registryOfHost(), host.get(Metrics).registry]);
    await addParked();
    expect(await merged.metrics()).toContain(PARKED);
    const [gauge] = (await merged.getMetricsAsJSON()).filter(({ name }) => name === 'order_timeout_parked');
    expect(gauge?.values).toMatchObject([{ value: 1 }]);
  });

  it('query the database once for each scrape', async () => {
    const host = await start(OperationsModule);
    const questions = [jest.spyOn(host.get(Outbox), 'backlog'), jest.spyOn(host.get(ParkedTimeouts), 'count')];
    const { registry } = host.get(Metrics);
    await registry.metrics();
    await registry.metrics();
    expect(questions.map((spy) => spy.mock.calls.length)).toEqual([2, 2]);
  });

  it('include the default metrics by default, and if the host enables them', async () => {
    const host = await start(OperationsModule);
    expect(await host.get(Metrics).read()).toContain('nodejs_eventloop_lag_seconds');
    await host.close();
    const registry = new Registry();
    await start(OperationsModule.forRoot({ registry, defaultMetrics: true }));
    expect(await registry.metrics()).toContain('nodejs_eventloop_lag_seconds');
  });

  it('are removed from the host registry when the application stops, so that it can start again in the process', async () => {
    const registry = registryOfHost();
    for (let starts = 0; starts < 2; starts++) {
      const host = await start(OperationsModule.forRootAsync({ useFactory: () => ({ registry }) }));
      await host.close();
      expect(await registry.metrics()).not.toContain('order_timeout_');
    }
    expect(await registry.metrics()).toContain('shop_baskets_total 3');
  });
});
