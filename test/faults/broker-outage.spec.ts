import { OwnBroker } from '../support/servers/own-broker';
import { createDatabase, type TestDatabase } from '../support/database';
import { startEngine, type TestEngine, until } from '../support/engine';
import { createEffectTable, keys, summarize, WriteEffects } from './effects';
import { stretched } from '../support/machine-load';

describe('while the broker fails', () => {
  let broker: OwnBroker;
  let database: TestDatabase;
  let engine: TestEngine | undefined;

  beforeAll(async () => {
    [broker, database] = await Promise.all([OwnBroker.open({ profile: 'plain' }), createDatabase()]);
    await createEffectTable(database);
  });

  afterEach(() => engine?.close());

  afterAll(async () => {
    await broker?.close();
    await database?.drop();
  });

  const start = async (): Promise<TestEngine> => {
    engine = await startEngine(database, broker.amqpUrl, [new WriteEffects()], {
      rabbit: { urls: [broker.amqpUrl], queueType: 'quorum' },
    });
    return engine;
  };

  /** Spreads the deadlines evenly over the given time. */
  const schedule = (
    running: TestEngine,
    prefix: string,
    count: number,
    fromMs: number,
    toMs: number,
  ): Promise<unknown> =>
    database.dataSource.transaction((tx) =>
      running.scheduler.schedule(
        keys(prefix, count).map((key, index) => ({
          kind: 'fault.effect',
          key,
          afterMs: Math.round(fromMs + ((toMs - fromMs) * index) / count),
        })),
        { tx },
      ),
    );

  const handled = (prefix: string, count: number, timeoutMs: number): Promise<void> =>
    until(async () => (await summarize(database, prefix)).keys === count, timeoutMs);

  it('for 20 s, everything is handled on time by the sweep, once, and messages take over again', async () => {
    const running = await start();
    await until(() => running.engine.isMessagePathUp);
    await schedule(running, 'outage-', 400, 0, 20_000);
    await broker.stop();
    const backAt = performance.now() + 20_000;
    await handled('outage-', 400, 40_000);
    await until(() => performance.now() >= backAt, 25_000);
    await broker.start();
    await until(() => running.engine.isMessagePathUp, 30_000);
    await schedule(running, 'after-', 50, 0, 2_000);
    await handled('after-', 50, 10_000);
    const { latestMs, ...outage } = await summarize(database, 'outage-');
    expect(outage).toEqual({ effects: 400, keys: 400, early: 0 });
    // The second between the loss of the connection and the first tick as the clock, and some for a busy machine.
    expect(latestMs).toBeLessThan(stretched(4_000));
    const [causes] = await database.dataSource.query<{ message: number }[]>(
      `SELECT count(*) FILTER (WHERE cause = 'message')::int AS message FROM effect WHERE key LIKE 'after-%'`,
    );
    expect(causes?.message).toBeGreaterThan(40);
  });

  it('by kill -9 in mid-expiry, everything is handled once, within 35 s', async () => {
    const running = await start();
    await until(() => running.engine.isMessagePathUp, 30_000);
    await schedule(running, 'killed-', 500, 1_000, 9_000);
    await until(async () => (await summarize(database, 'killed-')).keys > 100);
    await broker.kill();
    await broker.start();
    await handled('killed-', 500, 60_000);
    const { latestMs, ...summary } = await summarize(database, 'killed-');
    expect(summary).toEqual({ effects: 500, keys: 500, early: 0 });
    expect(latestMs).toBeLessThan(stretched(35_000));
  });

  it('before the start, the service starts without it, and uses it once it is there', async () => {
    await broker.stop();
    const running = await start();
    await schedule(running, 'alone-', 50, 0, 1_000);
    await handled('alone-', 50, 10_000);
    expect((await summarize(database, 'alone-')).latestMs).toBeLessThan(stretched(2_500));
    await broker.start();
    await until(() => running.engine.isMessagePathUp, 30_000);
    await schedule(running, 'together-', 50, 0, 1_000);
    await handled('together-', 50, 10_000);
    expect(await summarize(database, 'together-')).toMatchObject({ effects: 50, keys: 50, early: 0 });
  });
});
