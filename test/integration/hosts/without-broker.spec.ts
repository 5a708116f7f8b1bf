import { type Server } from 'node:http';
import { Socket } from 'node:net';
import { type INestApplication, type LoggerService, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import request from 'supertest';
import { uuidv7 } from 'uuidv7';
import { Inventory, OperationsModule, Orders, OrderTimeoutModule } from '../../../src';
import { Outbox, RabbitServer } from '../../../src/public/rabbit';
import {
  TimeoutHandler,
  type TimeoutHandlerSingle,
  type TimeoutOutcome,
  TimeoutScheduler,
} from '../../../src/public/timeouts';
import { createDatabase, serverUrl, type TestDatabase } from '../../support/database';
import { until } from '../../support/engine';
import { stretched } from '../../support/machine-load';

/** Parked at its first run, which is an event. */
@TimeoutHandler('without.broker')
class Parking implements TimeoutHandlerSingle {
  async handle(): Promise<TimeoutOutcome> {
    return { type: 'park', reason: 'the test wants it' };
  }
}

describe('a host without a broker', () => {
  const said: string[] = [];
  const keep = (message: unknown): unknown => said.push(String(message));
  const logger: LoggerService = { log: keep, warn: keep, error: keep };
  const connecting = jest.spyOn(Socket.prototype, 'connect');
  let database: TestDatabase;
  let app: INestApplication;
  let server: Server;
  let orders: Orders;

  beforeAll(async () => {
    database = await createDatabase();
    const { dataSource } = database;
    const reminderOffsetsMs = [100];
    @Module({
      imports: [OrderTimeoutModule.forRoot({ dataSource, orders: { reminderOffsetsMs } }), OperationsModule],
      providers: [Parking],
    })
    class Host {}
    // What an earlier run with a broker has left: no relay will take it.
    await dataSource.query(
      `INSERT INTO order_timeout.outbox (id, route, routing_key, body) VALUES (gen_random_uuid(), 'wake-up', 'k', '{}')`,
    );
    app = await NestFactory.create(Host, { logger, abortOnError: false });
    app.connectMicroservice({ strategy: app.get(RabbitServer) });
    await app.startAllMicroservices();
    await app.init();
    server = app.getHttpServer() as Server;
    orders = app.get(Orders);
    await app.get(Inventory).setStock(dataSource.manager, 'apple', 10);
  });

  afterAll(async () => {
    await app.close();
    jest.restoreAllMocks();
    await database.drop();
  });

  const outboxRows = async (): Promise<unknown[]> =>
    database.dataSource.query('SELECT route, routing_key FROM order_timeout.outbox');

  it('says once at start what is missing', () => {
    const sentences = said.filter((one) => one.includes('no broker is configured: '));
    expect(sentences).toEqual([expect.stringMatching(/PostgreSQL alone .* no events are sent .* no commands/)]);
  });

  it('closes orders at their deadline, by the clock of PostgreSQL', async () => {
    const lines = [{ sku: 'apple', quantity: 1, unitAmount: 5 }];
    await orders.place({ id: 'o-1', amount: 5, currency: 'EUR', paymentWindowMs: 400, lines });
    await until(async () => (await orders.history('o-1')).some(({ to }) => to === 'CLOSED'));
    const [placed, closed] = await orders.history('o-1');
    const tookMs = Number(closed?.occurredAt) - Number(placed?.occurredAt);
    expect(closed?.cause).toBe('sweep');
    expect(tookMs).toBeGreaterThanOrEqual(400);
    expect(tookMs).toBeLessThan(stretched(2_000));
  });

  it('writes nothing to the outbox, and drops the wake-ups that were left there', async () => {
    await orders.place({ id: 'o-2', amount: 5, currency: 'EUR', paymentWindowMs: 60_000, lines: [] });
    await orders.markPaid({ orderId: 'o-2', provider: 'p', reference: 'r', amount: 5, currency: 'EUR' });
    await orders.markPaid({ orderId: 'never', provider: 'p', reference: 'late', amount: 5, currency: 'EUR' });
    await app.get(TimeoutScheduler).schedule([{ kind: 'without.broker', key: 'k', afterMs: 0 }]);
    await database.dataSource.transaction((tx) =>
      app.get(Outbox).append(tx, [{ id: uuidv7(), route: 'event', routingKey: 'shop.opened', body: {} }]),
    );
    await until(
      async () => (await app.get(TimeoutScheduler).find({ kind: 'without.broker', key: 'k' }))?.state === 'parked',
    );
    await until(async () => (await outboxRows()).length === 0);
    expect((await orders.get('o-2'))?.status).toBe('PAID');
  });

  it('reports that no broker is configured, and not that it is down', async () => {
    await until(async () => (await request(server).get('/health/ready')).status === 200);
    const { body } = (await request(server).get('/health/ready')) as { body: unknown };
    expect(body).toMatchObject({ status: 'ready', broker: 'not configured', messagePath: 'off', transport: 'none' });
    const { text } = await request(server).get('/metrics');
    expect(text).toContain('order_timeout_database_up 1');
    expect(text).toContain('order_timeout_outbox_rows 0');
    expect(text).not.toMatch(/^order_timeout_(broker|message_path)_up /m);
  });

  it('never tries to connect to one', () => {
    const ports = new Set(connecting.mock.calls.map(portOf));
    // Requests of this test go to a port that the system chose.
    expect([...ports].filter((port) => port < 32_768)).toEqual([Number(new URL(serverUrl()).port)]);
    expect(ports).not.toContain(5_672);
  });
});

/** Of the arguments of connect: a port, or options, or an array with these. */
function portOf(given: readonly unknown[]): number {
  const [first] = given.flat();
  return Number(typeof first === 'object' && first !== null && 'port' in first ? first.port : first);
}
