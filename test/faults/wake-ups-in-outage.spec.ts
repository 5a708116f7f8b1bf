import { Delivery } from '../../src/rabbit';
import { DONE, TimeoutHandler, type TimeoutHandlerSingle, type TimeoutOutcome } from '../../src/timeouts';
import { startEngine, type TestEngine, until } from '../support/engine';
import { createProxiedDatabase, type ProxiedDatabase } from '../support/proxied-database';
import { createVhost, type TestVhost } from '../support/rabbit-vhost';
import { stretched } from '../support/machine-load';

const KIND = 'outage.single';

@TimeoutHandler(KIND)
class Single implements TimeoutHandlerSingle {
  async handle(): Promise<TimeoutOutcome> {
    return DONE;
  }
}

describe('wake-ups while the database is unavailable', () => {
  let database: ProxiedDatabase;
  let vhost: TestVhost;
  let engine: TestEngine;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createProxiedDatabase(), createVhost()]);
    const rabbit = { urls: [vhost.url], queueType: 'quorum' as const };
    const single = new Single();
    engine = await startEngine(database, vhost.url, [single], { rabbit });
    await until(() => engine.engine.isMessagePathUp);
  });

  afterAll(async () => {
    database.accept();
    await engine.close();
    await database.drop();
    await vhost.drop();
  });

  it('are kept, are not delivered again, and are handled when it is back', async () => {
    const acknowledge = jest.spyOn(Delivery.prototype, 'acknowledge');
    const keys = [...Array(50).keys()].map(String);
    await database.dataSource.transaction((tx) =>
      engine.scheduler.schedule(
        keys.map((key) => ({ kind: KIND, key, afterMs: 3_000 })),
        { tx },
      ),
    );
    const [row] = await database.dataSource.query<{ due: Date }[]>(
      'SELECT max(due_at) AS due FROM order_timeout.timeout',
    );
    await until(async () => {
      const left = await database.dataSource.query<object[]>('SELECT 1 FROM order_timeout.outbox');
      return left.length === 0;
    });
    database.refuse();
    await new Promise((resolve) => setTimeout(resolve, 15_000));
    expect(engine.settled.rows).toEqual([]);
    expect(engine.engine.isMessagePathUp).toBe(false);
    database.accept();
    const backAt = Date.now();
    await engine.settled.done(keys.length, 10_000);
    expect(backAt).toBeGreaterThan(row?.due.getTime() ?? Infinity);
    expect(Date.now() - backAt).toBeLessThan(stretched(6_000));
    await until(() => engine.engine.isMessagePathUp);
    expect(acknowledge.mock.calls.filter(([how]) => how !== 'ack')).toEqual([]);
  });
});
