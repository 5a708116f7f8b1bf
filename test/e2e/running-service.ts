import { type NestExpressApplication } from '@nestjs/platform-express';
import { type Channel, connect, type ConsumeMessage } from 'amqplib';
import request, { type Response } from 'supertest';
import { loadConfig } from '../../src/service/config';
import { createService, startService } from '../../src/service/create-service';
import { Conformance } from '../contract/conformance';
import { apiKeyEntry } from '../support/servers/service-environment';
import { createDatabase, type TestDatabase } from '../support/database';
import { until } from '../support/engine';
import { createVhost, type TestVhost } from '../support/rabbit-vhost';

export const PREFIX = 'order-timeout.v1';
export const KEYS = { all: 'key-of-everything', reader: 'key-of-reader', stock: 'key-of-stock' };

export const API_KEYS = [
  apiKeyEntry('shop', KEYS.all, '*'),
  apiKeyEntry('reader', KEYS.reader, 'orders:read'),
  apiKeyEntry('stock', KEYS.stock, 'inventory:write'),
].join(',');

/** The members that tests read as what they are; all others are unknown. */
interface Body extends Record<string, unknown> {
  readonly status: string;
  readonly code: string;
  readonly expiresAt: string;
  readonly reserved: number;
  readonly available: number;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly body: Body;
}

/** A request of supertest, whose answers are not `any`. */
export interface Call extends PromiseLike<Answer> {
  set(name: string, value: string): Call;
  expect(status: number, body?: object | RegExp): Call;
}

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The whole service on a database and a vhost of its own, and a program beside it that speaks AMQP. */
export interface RunningService {
  readonly app: NestExpressApplication;
  readonly database: TestDatabase;
  readonly vhost: TestVhost;
  /** A request with the key that may everything, unless another is given; null: none. */
  call(method: Method, path: string, body?: object | string, key?: string | null): Call;
  /** Publishes a command. */
  command(name: string, body: unknown, properties?: object): void;
  /** Events and parked messages since the start. */
  readonly events: ConsumeMessage[];
  readonly parked: ConsumeMessage[];
  close(): Promise<void>;
}

/** @param given a database of its own unless one is given; it is dropped at the end */
export async function openService(
  environment: Record<string, string> = {},
  given?: TestDatabase,
): Promise<RunningService> {
  const [database, vhost] = await Promise.all([given ?? createDatabase(), createVhost()]);
  const config = loadConfig({ ...environmentOf(database.url, vhost.url), ...environment });
  const app = await createService(config);
  await startService(app, config.http);
  const call = callerOf(app);
  await until(async () => (await call('get', '/health/ready')).body.status === 'ready');
  const { differences, ...shop } = await openShop(vhost.url);
  return {
    app,
    database,
    vhost,
    call,
    ...shop,
    close: async () => {
      await shop.close();
      await app.close();
      await database.drop();
      await vhost.drop();
      // Of the events from docs/asyncapi.json. Last, so that nothing is left behind.
      expect(differences).toEqual([]);
    },
  };
}

export function environmentOf(databaseUrl: string, rabbitUrl: string): Record<string, string> {
  return {
    PORT: '0',
    HOST: '127.0.0.1',
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: '10',
    RABBITMQ_URLS: rabbitUrl,
    RABBITMQ_QUEUE_TYPE: 'classic',
    DELAY_TRANSPORT: 'ladder',
    LADDER_BASE: '8',
    HORIZON_MS: '60000',
    REMINDER_OFFSETS_MS: '60000',
    // Most of these tests need an attempt, and nobody who is asked about it.
    UNKNOWN_PROVIDERS: 'allow',
    API_KEYS,
    LOG_LEVEL: process.env.TEST_LOGS ? 'debug' : 'silent',
    SHUTDOWN_TIMEOUT_MS: '3000',
  };
}

export function callerOf(app: NestExpressApplication): RunningService['call'] {
  return (method, path, body, key = KEYS.all) => {
    const sent = request(app.getHttpServer())[method](path);
    if (key !== null) void sent.set('x-api-key', key);
    if (body !== undefined) void sent.set('content-type', 'application/json').send(body);
    return sent.expect(({ status, headers, body: answer }: Response) => {
      const contentType = (headers as Record<string, string>)['content-type'];
      const problems = conformance().problemsOf({
        method,
        path,
        sent: body,
        status,
        contentType,
        body: answer as unknown,
      });
      if (problems.length > 0) throw new Error(`docs/openapi.json differs from the service: ${problems.join('; ')}`);
    });
  };
}

let documents: Conformance | undefined;

/** Every answer, reply, and event that a test meets is compared with the documents of the API. */
export function conformance(): Conformance {
  documents ??= new Conformance();
  return documents;
}

async function openShop(url: string) {
  const connection = await connect(url);
  const channel = await connection.createChannel();
  const events: ConsumeMessage[] = [];
  const parked: ConsumeMessage[] = [];
  const differences: string[] = [];
  const { queue } = await channel.assertQueue('', { exclusive: true });
  await channel.bindQueue(queue, `${PREFIX}.events`, '#');
  await keep(channel, queue, (event) => {
    differences.push(...conformance().problemsOfEvent(event.fields.routingKey, bodyOf(event)));
    events.push(event);
  });
  await keep(channel, `${PREFIX}.parked`, (message) => parked.push(message));
  return {
    events,
    parked,
    command: (name: string, body: unknown, properties: object = {}) => {
      const content = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
      channel.publish(`${PREFIX}.commands`, name, content, { persistent: true, ...properties });
    },
    close: () => connection.close(),
    differences,
  };
}

function keep(channel: Channel, queue: string, take: (message: ConsumeMessage) => void): Promise<unknown> {
  return channel.consume(queue, (message) => message && take(message), { noAck: true });
}

/** What an AMQP message carries as JSON. */
export function bodyOf(message: ConsumeMessage | undefined): Record<string, unknown> {
  return JSON.parse(message?.content.toString() ?? 'null') as Record<string, unknown>;
}

/**
 * A fault of the product, for as long as `work` takes: writes to this table fail for a reason that is nowhere foreseen.
 *
 * @param work may ask how often it has happened
 */
export async function withFaultOf<T>(
  { database: { dataSource } }: RunningService,
  table: string,
  work: (times: () => Promise<number>) => Promise<T>,
): Promise<T> {
  await dataSource.query('CREATE SEQUENCE order_timeout.faults');
  await dataSource.query(`CREATE FUNCTION order_timeout.fault() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
    $$ BEGIN PERFORM nextval('order_timeout.faults'); RAISE EXCEPTION 'fault in ${table}'; END $$`);
  await dataSource.query(
    `CREATE TRIGGER fault BEFORE INSERT ON order_timeout.${table} EXECUTE FUNCTION order_timeout.fault()`,
  );
  const times = async (): Promise<number> => {
    const [row] = await dataSource.query<{ last_value: string }[]>('SELECT last_value FROM order_timeout.faults');
    return Number(row?.last_value);
  };
  try {
    return await work(times);
  } finally {
    await dataSource.query('DROP FUNCTION order_timeout.fault() CASCADE');
    await dataSource.query('DROP SEQUENCE order_timeout.faults');
  }
}

let counter = 0;

/** The body of a small valid order. */
export function anOrder(overrides: Record<string, unknown> = {}) {
  return {
    id: `order-${++counter}`,
    amount: 1_999,
    currency: 'EUR',
    paymentWindowMs: 600_000,
    lines: [{ sku: 'apple', quantity: 1, unitAmount: 1_999 }],
    ...overrides,
  };
}
