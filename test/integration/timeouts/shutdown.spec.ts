import {
  DONE,
  type DueTimeout,
  TimeoutHandler,
  type TimeoutHandlerSingle,
  TimeoutObservers,
  type TimeoutOutcome,
} from '../../../src/timeouts';
import { SystemClock, withTimeout } from '../../../src/clock';
import { createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, type TestEngine, until } from '../../support/engine';
import { LookUpHandler } from '../../support/look-up-handler';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { stretched } from '../../support/machine-load';

const KIND = 'stop.single';
const clock = new SystemClock();

@TimeoutHandler(KIND)
class Single implements TimeoutHandlerSingle {
  readonly seen: string[] = [];
  behavior: (due: DueTimeout) => Promise<TimeoutOutcome> = async () => DONE;

  async handle(due: DueTimeout): Promise<TimeoutOutcome> {
    this.seen.push(due.key);
    return this.behavior(due);
  }
}

@TimeoutHandler('stop.asking', { leaseMs: 20_000 })
class Asking extends LookUpHandler {}

describe('the engine', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let engine: TestEngine;
  let single: Single;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
  });

  beforeEach(async () => {
    single = new Single();
    engine = await startEngine(database, vhost.url, [single, new Asking(async () => 'yes')], {
      transport: 'none',
      shutdownTimeoutMs: 300,
    });
    await until(() => engine.engine.isReady);
  });

  afterEach(async () => {
    await engine.close();
    await database.dataSource.query('TRUNCATE order_timeout.timeout, order_timeout.outbox');
  });

  afterAll(async () => {
    await database.drop();
    await vhost.drop();
  });

  const schedule = (kind: string, keys: string[], afterMs = 0): Promise<unknown> =>
    database.dataSource.transaction((tx) =>
      engine.scheduler.schedule(
        keys.map((key) => ({ kind, key, afterMs })),
        { tx },
      ),
    );
  const isClosedWithin = (ms: number): Promise<boolean> =>
    withTimeout(
      clock,
      ms,
      engine.close().then(() => true),
      false,
    );

  it('stops although a handler hangs in a sweep', async () => {
    let release = (): void => undefined;
    single.behavior = () => new Promise((resolve) => (release = () => resolve(DONE)));
    // Written by nobody this process hears of, so that it is the sweep that finds it. Due now: the past is read for 2 % of
    // the time only, which on a busy machine may be once in minutes.
    await database.dataSource.query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at) VALUES ($1, 'hangs', 1, now(), now())`,
      [KIND],
    );
    await until(() => single.seen.length > 0);
    const isClosed = await isClosedWithin(stretched(4_000));
    release();
    expect(isClosed).toBe(true);
  });

  it('handles nothing after it has stopped, not even what it was about to look at again', async () => {
    let release = (): void => undefined;
    single.behavior = ({ key }) =>
      key === 'slow' ? new Promise((resolve) => (release = () => resolve(DONE))) : Promise.resolve(DONE);
    await schedule(KIND, ['slow', 'locked'], stretched(1_000));
    const host = database.dataSource.createQueryRunner();
    await host.startTransaction();
    await host.query(`SELECT 1 FROM order_timeout.timeout WHERE key = 'locked' FOR UPDATE`);
    await until(() => single.seen.includes('slow'));
    const closing = engine.close();
    // What waits has been requeued by now; the batch in progress is what the shutdown waits for.
    await clock.sleep(100);
    release();
    await closing;
    await host.commitTransaction();
    await host.release();
    await clock.sleep(400);
    expect(single.seen).toEqual(['slow']);
  });

  it('asks and settles although an observer throws', async () => {
    const faulty = (): void => {
      throw new Error('no such metric');
    };
    const told = { settled: faulty, away: faulty, undecodable: faulty, wakeUpsMissed: faulty, transport: faulty };
    engine.module.get(TimeoutObservers).add(told);
    await schedule('stop.asking', ['a', 'b']);
    await engine.settled.done(2, 4_000);
  });
});
