import { type NestExpressApplication } from '@nestjs/platform-express';
import request from 'supertest';
import { loadConfig } from '../../../src/service/config';
import { createService, startService } from '../../../src/service/create-service';
import { createDatabase, type TestDatabase } from '../../support/database';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { anOrder, environmentOf, KEYS } from '../running-service';

/** A service on a database and vhost of its own, with nobody who takes its events and parked messages. */
export interface SilentService {
  readonly app: NestExpressApplication;
  readonly database: TestDatabase;
  readonly vhost: TestVhost;
  /** Of the service, for commands. */
  readonly environment: Record<string, string>;
  /** Places an order without lines. Returns its id. */
  place(overrides?: Record<string, unknown>): Promise<string>;
  statusOf(id: string): Promise<string>;
  /** Ends the service, and leaves database and vhost. */
  stop(): Promise<void>;
  drop(): Promise<void>;
}

export async function openSilentService(
  changed: Record<string, string> = {},
  broker: 'plain' | 'plugin' = 'plain',
): Promise<SilentService> {
  const [database, vhost] = await Promise.all([createDatabase(), createVhost(broker)]);
  const environment = { ...environmentOf(database.url, vhost.url), ...changed };
  const config = loadConfig(environment);
  const app = await createService(config);
  await startService(app, config.http);
  const get = async (path: string) => request(app.getHttpServer()).get(path).set('x-api-key', KEYS.all);
  await until(async () => ((await get('/health/ready')).body as { status: string }).status === 'ready');
  let isRunning = true;
  const stop = async (): Promise<void> => {
    if (isRunning) await app.close();
    isRunning = false;
  };
  return {
    ...{ app, database, vhost, environment, stop },
    place: async (overrides = {}) => {
      const order = anOrder({ lines: [], ...overrides });
      const answer = await request(app.getHttpServer()).post('/orders').set('x-api-key', KEYS.all).send(order);
      expect(answer.status).toBe(201);
      return order.id;
    },
    statusOf: async (id) => {
      const sql = 'SELECT status FROM order_timeout.orders WHERE id = $1';
      const [row] = await database.dataSource.query<{ status: string }[]>(sql, [id]);
      return row?.status ?? 'absent';
    },
    drop: async () => {
      await stop();
      await database.drop();
      await vhost.drop();
    },
  };
}
