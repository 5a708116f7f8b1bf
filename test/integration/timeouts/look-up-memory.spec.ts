import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { TimeoutHandler } from '../../../src/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, until } from '../../support/engine';
import { LookUpHandler } from '../../support/look-up-handler';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

const COUNT = 200;

@TimeoutHandler('remembered')
class Asking extends LookUpHandler {}

describe('the questions of a running engine', () => {
  let database: TestDatabase;
  let vhost: TestVhost;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
  });

  afterAll(async () => {
    await database.drop();
    await vhost.drop();
  });

  it('take no memory after their end', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const signals: WeakRef<AbortSignal>[] = [];
    const handler = new Asking(async (signal) => {
      signals.push(new WeakRef(signal));
      return 'yes';
    });
    const engine = await startEngine(database, vhost.url, [handler], { transport: 'none' });
    await database.dataSource.transaction((tx) =>
      engine.scheduler.schedule(
        Array.from({ length: COUNT }, (_, n) => ({ kind: 'remembered', key: `${n}`, afterMs: 0 })),
        { tx },
      ),
    );
    await engine.settled.done(COUNT);
    engine.settled.rows.length = 0;
    const kept = (): number => signals.filter((signal) => signal.deref() !== undefined).length;
    expect(signals).toHaveLength(COUNT);
    // A few may be held by the last turn of the event loop.
    await until(() => {
      collect();
      return kept() < COUNT / 10;
    }, 3_000).finally(() => engine.close());
  });
});
