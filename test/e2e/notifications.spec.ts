import { type Server } from 'node:http';
import { type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import request from 'supertest';
import { Inventory, Orders, OrderTimeoutModule } from '../../src';
import { createDatabase, type TestDatabase } from '../support/database';
import { createVhost, type TestVhost } from '../support/rabbit-vhost';
import { blankProvider } from './blank-provider';
import { anOrder } from './running-service';

describe('notifications in a host', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  const apps: INestApplication[] = [];

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
  });
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close();
  });
  afterAll(async () => {
    await database.drop();
    await vhost.drop();
  });

  async function start(rawBody: boolean): Promise<INestApplication> {
    const { dataSource } = database;
    const rabbit = { urls: [vhost.url], queueType: 'classic' as const };
    const module = OrderTimeoutModule.forRoot({
      dataSource,
      rabbit,
      transport: 'none',
      providers: [blankProvider],
      http: true,
      apiKeys: 'open',
    });
    @Module({ imports: [module] })
    class Host {}
    const app = await NestFactory.create(Host, { logger: false, abortOnError: false, rawBody });
    apps.push(app);
    return app.init();
  }

  const post = (app: INestApplication, name: string, body: string) =>
    request(app.getHttpServer() as Server)
      .post(`/payments/${name}/notify`)
      .set('content-type', 'application/json')
      .send(body);

  async function placed(app: INestApplication, reference: string): Promise<string> {
    await app.get(Inventory).setStock(database.dataSource.manager, 'apple', 10_000);
    const { id, amount, currency, lines } = anOrder();
    const order = { id, amount, currency, lines, paymentWindowMs: 60_000, attempt: { provider: 'posting', reference } };
    expect(await app.get(Orders).place(order)).toMatchObject({ outcome: 'placed' });
    return id;
  }

  it('are believed with the right signature only, booked once, and answered in the provider’s format', async () => {
    const app = await start(true);
    const id = await placed(app, 'n-1');
    const amount = (await app.get(Orders).get(id))?.amount;
    const news = JSON.stringify({ reference: 'n-1', amount });
    await post(app, 'posting', news)
      .expect(401, 'rejected')
      .expect('content-type', /text\/plain/);
    expect(await app.get(Orders).get(id)).toMatchObject({ status: 'PENDING' });
    for (let copy = 0; copy < 3; copy++) await post(app, 'posting', `${news} `).expect(204);
    const order = await app.get(Orders).get(id);
    expect(order).toMatchObject({ status: 'PAID', version: 2, attempts: [{ reference: 'n-1', status: 'PAID' }] });
  });

  it('for a provider that posts none have no address', async () => {
    const app = await start(true);
    await post(app, 'unknown', '{}').expect(404, /no provider \\"unknown\\" posts notifications here/);
  });

  it('in a form that no provider uses are refused', async () => {
    const app = await start(true);
    const posted = request(app.getHttpServer() as Server).post('/payments/posting/notify');
    await posted.set('content-type', 'text/plain').send('hello').expect(415);
  });

  it('cannot be checked in a host that discards the raw body, which is said, and asked for again', async () => {
    const app = await start(false);
    await post(app, 'posting', '{"reference":"n-1"}').expect(500);
  });
});
