import { DataSource } from 'typeorm';
import {
  DONE,
  type DueTimeout,
  TimeoutHandler,
  type TimeoutHandlerBatch,
  type TimeoutOutcome,
} from '../../../src/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, type TestEngine, until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { type BrokerProxy, startBrokerProxy } from '../rabbit/broker-proxy';

const LEASE_MS = 20_000;

@TimeoutHandler('answered', { leaseMs: LEASE_MS })
class Answered implements TimeoutHandlerBatch<string> {
  asked = 0;
  answer: () => void = () => undefined;

  async handleBatch(due: readonly DueTimeout<string>[]): Promise<TimeoutOutcome[]> {
    return due.map(({ answer }) => (answer === undefined ? { type: 'look-up' } : DONE));
  }

  lookUp(): Promise<string> {
    this.asked += 1;
    return new Promise((resolve) => (this.answer = () => resolve('paid')));
  }
}

describe('an answer that cannot be written', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let proxy: BrokerProxy;
  let dataSource: DataSource;
  let engine: TestEngine;
  const handler = new Answered();

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    proxy = await startBrokerProxy(database.url);
    dataSource = await new DataSource({
      type: 'postgres',
      url: proxy.url,
      poolErrorHandler: () => undefined,
    }).initialize();
    engine = await startEngine({ ...database, dataSource }, vhost.url, [handler]);
    await until(() => engine.engine.isMessagePathUp);
  });

  afterAll(async () => {
    proxy.accept();
    await engine.close();
    await dataSource.destroy();
    await proxy.close();
    await database.drop();
    await vhost.drop();
  });

  it('is written as soon as the database is back, and the question is not asked again', async () => {
    await dataSource.transaction((tx) =>
      engine.scheduler.schedule(tx, [{ kind: 'answered', key: 'one', afterMs: 100 }]),
    );
    await until(() => handler.asked === 1);
    proxy.refuse();
    handler.answer();
    await until(() => !engine.engine.isMessagePathUp);
    proxy.accept();
    const backAt = performance.now();
    await engine.settled.done(1, LEASE_MS);
    expect(performance.now() - backAt).toBeLessThan(LEASE_MS / 4);
    expect(handler.asked).toBe(1);
  });
});
