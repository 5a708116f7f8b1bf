import { DataSource } from 'typeorm';
import { Delivery } from '../../../src/rabbit';
import { DONE, TimeoutHandler, type TimeoutHandlerSingle, type TimeoutOutcome } from '../../../src/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, type TestEngine, until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { type BrokerProxy, startBrokerProxy } from '../rabbit/broker-proxy';

const KIND = 'outage.single';

@TimeoutHandler(KIND)
class Single implements TimeoutHandlerSingle {
  async handle(): Promise<TimeoutOutcome> {
    return DONE;
  }
}

describe('wake-ups while the database is away', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let proxy: BrokerProxy;
  let dataSource: DataSource;
  let engine: TestEngine;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    proxy = await startBrokerProxy(database.url);
    dataSource = await new DataSource({
      type: 'postgres',
      url: proxy.url,
      poolErrorHandler: () => undefined,
    }).initialize();
    const rabbit = { urls: [vhost.url], queueType: 'quorum' as const };
    const single = new Single();
    engine = await startEngine({ ...database, dataSource }, vhost.url, [single], { rabbit });
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

  it('stay in hand, are not delivered again, and are handled when it is back', async () => {
    const settle = jest.spyOn(Delivery.prototype, 'settle');
    const keys = [...Array(50).keys()].map(String);
    await dataSource.transaction((tx) =>
      engine.scheduler.schedule(
        tx,
        keys.map((key) => ({ kind: KIND, key, afterMs: 3_000 })),
      ),
    );
    const [row] = await dataSource.query<{ due: Date }[]>('SELECT max(due_at) AS due FROM order_timeout.timeout');
    await until(async () => {
      const left = await dataSource.query<object[]>('SELECT 1 FROM order_timeout.outbox');
      return left.length === 0;
    });
    proxy.refuse();
    await new Promise((resolve) => setTimeout(resolve, 15_000));
    expect(engine.settled.rows).toEqual([]);
    expect(engine.engine.isMessagePathUp).toBe(false);
    proxy.accept();
    const backAt = Date.now();
    await engine.settled.done(keys.length, 10_000);
    expect(backAt).toBeGreaterThan(row?.due.getTime() ?? Infinity);
    expect(Date.now() - backAt).toBeLessThan(6_000);
    await until(() => engine.engine.isMessagePathUp);
    expect(settle.mock.calls.filter(([settlement]) => settlement !== 'ack')).toEqual([]);
  });
});
