import { SystemClock } from '../../src/clock';
import { DONE, TimeoutHandler, type TimeoutHandlerSingle, type TimeoutOutcome } from '../../src/timeouts';
import { OwnBroker } from '../support/servers/own-broker';
import { createDatabase, type TestDatabase } from '../support/database';
import { startEngine, type TestEngine, until } from '../support/engine';
import { stretched } from '../support/machine-load';

const KIND = 'frozen.single';
const LIMIT_MS = 3_000;
const clock = new SystemClock();

@TimeoutHandler(KIND)
class Single implements TimeoutHandlerSingle {
  async handle(): Promise<TimeoutOutcome> {
    return DONE;
  }
}

describe('a broker that is frozen', () => {
  let broker: OwnBroker;
  let database: TestDatabase;
  let engine: TestEngine;

  beforeAll(async () => {
    [broker, database] = await Promise.all([OwnBroker.open({ profile: 'plain' }), createDatabase()]);
    engine = await startEngine(database, broker.amqpUrl, [new Single()], { shutdownTimeoutMs: LIMIT_MS });
    await until(() => engine.engine.isMessagePathUp);
  });

  afterAll(async () => {
    broker?.thaw();
    await broker?.close();
    await database?.drop();
  });

  it('holds up a shutdown by its limit, and two seconds for goodbyes', async () => {
    broker.freeze();
    // Its wake-up is published, and never confirmed.
    await database.dataSource.transaction((tx) =>
      engine.scheduler.schedule([{ kind: KIND, key: 'a', afterMs: 60_000 }], { tx }),
    );
    await clock.sleep(500);
    const beganAt = performance.now();
    await engine.close();
    expect(performance.now() - beganAt).toBeLessThan(stretched(LIMIT_MS + 2_500));
  });
});
