import { TimeoutHandler } from '../../../src/timeouts';
import { startEngine, type TestEngine, until } from '../../support/engine';
import { LookUpHandler } from '../../support/look-up-handler';
import { createProxiedDatabase, type ProxiedDatabase } from '../../support/proxied-database';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

/** Nothing here waits for the end of a lease. */
const LEASE_MS = 600_000;

@TimeoutHandler('answered', { leaseMs: LEASE_MS })
class Answered extends LookUpHandler {}

describe('an answer that cannot be written', () => {
  let database: ProxiedDatabase;
  let vhost: TestVhost;
  let engine: TestEngine;
  let answer: () => void;
  const handler = new Answered(() => new Promise((resolve) => (answer = () => resolve('paid'))));

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createProxiedDatabase(), createVhost()]);
    engine = await startEngine(database, vhost.url, [handler]);
    await until(() => engine.engine.isMessagePathUp);
  });

  afterAll(async () => {
    database.accept();
    await engine.close();
    await database.drop();
    await vhost.drop();
  });

  it('is written as soon as the database is back, and the question is not asked again', async () => {
    await database.dataSource.transaction((tx) =>
      engine.scheduler.schedule([{ kind: 'answered', key: 'one', afterMs: 100 }], { tx }),
    );
    await until(() => handler.asked.length === 1);
    database.refuse();
    answer();
    await until(() => !engine.engine.isMessagePathUp);
    database.accept();
    await engine.settled.done(1);
    expect(handler.asked).toEqual(['one']);
  });
});
