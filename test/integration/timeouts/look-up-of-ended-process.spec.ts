import { TimeoutHandler } from '../../../src/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, type TestEngine, until } from '../../support/engine';
import { LookUpHandler } from '../../support/look-up-handler';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

/** Nothing here waits for the end of a lease. */
const LEASE_MS = 600_000;

@TimeoutHandler('ended-process', { leaseMs: LEASE_MS })
class Asking extends LookUpHandler {}

describe('a look-up whose process has ended', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  const engines: TestEngine[] = [];

  beforeAll(async () => void ([database, vhost] = await Promise.all([createDatabase(), createVhost()])));

  afterAll(async () => {
    await Promise.all(engines.map((engine) => engine.close()));
    await database.drop();
    await vhost.drop();
  });

  const start = async (handler: Asking): Promise<TestEngine> => {
    const engine = await startEngine(database, vhost.url, [handler], { shutdownTimeoutMs: 100 });
    await until(() => engine.engine.isMessagePathUp);
    return engine;
  };

  it('is repeated by another process as soon as the wake-up comes back, and not when the lease ends', async () => {
    const hanging = new Asking((signal) => new Promise((_, reject) => signal.addEventListener('abort', reject)));
    const answering = new Asking(async () => 'answered');
    const first = await start(hanging);
    await database.dataSource.transaction((tx) =>
      first.scheduler.schedule([{ kind: 'ended-process', key: 'one', afterMs: 300 }], { tx }),
    );
    await until(() => hanging.asked.length === 1);
    const second = await start(answering);
    engines.push(second);
    await first.close();
    await second.settled.done(1);
    expect(answering.settled).toEqual(['answered']);
    expect(hanging.settled).toEqual([]);
  });
});
