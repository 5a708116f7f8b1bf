import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  LOOK_UP,
  DONE,
  type DueTimeout,
  TimeoutHandler,
  type TimeoutHandlerBatch,
  type TimeoutOutcome,
} from '../../../src/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

const COUNT = 200;

@TimeoutHandler('remembered')
class Asking implements TimeoutHandlerBatch<string> {
  readonly signals: WeakRef<AbortSignal>[] = [];

  async handleBatch(due: readonly DueTimeout<string>[]): Promise<TimeoutOutcome[]> {
    return due.map(({ answer }) => (answer === undefined ? LOOK_UP : DONE));
  }

  async lookUp(_due: DueTimeout, signal: AbortSignal): Promise<string> {
    this.signals.push(new WeakRef(signal));
    return 'yes';
  }
}

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
    const handler = new Asking();
    const engine = await startEngine(database, vhost.url, [handler], { transport: 'none' });
    await database.dataSource.transaction((tx) =>
      engine.scheduler.schedule(
        Array.from({ length: COUNT }, (_, n) => ({ kind: 'remembered', key: `${n}`, afterMs: 0 })),
        { tx },
      ),
    );
    await engine.settled.done(COUNT);
    engine.settled.rows.length = 0;
    const kept = (): number => handler.signals.filter((signal) => signal.deref() !== undefined).length;
    expect(handler.signals).toHaveLength(COUNT);
    // A few may be held by the last turn of the event loop.
    await until(() => {
      collect();
      return kept() < COUNT / 10;
    }, 3_000).finally(() => engine.close());
  });
});
