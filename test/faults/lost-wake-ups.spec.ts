import { connect, type Channel, type ChannelModel } from 'amqplib';
import {
  DONE,
  TimeoutHandler,
  type TimeoutHandlerSingle,
  TimeoutObservers,
  type TimeoutsOptions,
} from '../../src/timeouts';
import { createDatabase, type TestDatabase } from '../support/database';
import { startEngine, type TestEngine, until } from '../support/engine';
import { createVhost, type TestVhost } from '../support/rabbit-vhost';

@TimeoutHandler('lost')
class Lost implements TimeoutHandlerSingle {
  handle = async () => DONE;
}

const SWEEP = { intervalMs: 500, marginMs: 500 };

describe('wake-ups that the broker has lost', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let direct: ChannelModel;
  let channel: Channel;
  let engine: TestEngine;

  beforeEach(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    direct = await connect(vhost.url);
    direct.on('error', () => undefined);
    channel = await direct.createChannel();
    channel.on('error', () => undefined);
  });

  afterEach(async () => {
    await engine.close();
    await direct.close().catch(() => undefined);
    await database.drop();
    await vhost.drop();
  });

  const start = async (options: Partial<TimeoutsOptions> = {}): Promise<TestEngine> => {
    engine = await startEngine(database, vhost.url, [new Lost()], { sweep: SWEEP, ...options });
    await until(() => engine.engine.isMessagePathUp);
    return engine;
  };
  /** One every 100 ms, from `fromMs` on. */
  const schedule = (count: number, fromMs: number): Promise<unknown> =>
    database.dataSource.transaction((tx) =>
      engine.scheduler.schedule(
        Array.from({ length: count }, (_, index) => ({
          kind: 'lost',
          key: `l-${fromMs}-${index}`,
          afterMs: fromMs + index * 100,
        })),
        { tx },
      ),
    );
  /** What the sweep finds that a message should have brought. */
  const countMissed = (): { count: number } => {
    const missed = { count: 0 };
    const observer = Object.assign(new TimeoutObservers(), {
      wakeUpsMissed: (_: string, count: number) => void (missed.count += count),
    });
    engine.module.get(TimeoutObservers).add(observer);
    return missed;
  };
  const areHandedOver = async (): Promise<boolean> => {
    const [row] = await database.dataSource.query<{ count: number }[]>(
      `SELECT count(*)::int AS count FROM order_timeout.outbox WHERE route = 'wake-up'`,
    );
    return row?.count === 0;
  };
  const setting = async (name: string): Promise<string | undefined> => {
    const [row] = await database.dataSource.query<{ value: string }[]>(
      'SELECT value FROM order_timeout.engine_setting WHERE name = $1',
      [name],
    );
    return row?.value;
  };
  const ladder = 'order-timeout.v1.delay-b8-u1000-classic';

  it('become punctual again, by the sweep at once and by messages after it, when they keep going missing', async () => {
    await start();
    await schedule(250, 2_000);
    await until(areHandedOver);
    // What waits is dropped from now on, and what comes later has no way either.
    for (const position of [0, 1]) await channel.deleteExchange(`${ladder}.${position}`);
    await channel.deleteExchange(`${ladder}.delivery`);
    const missed = countMissed();
    await until(() => engine.engine.path.state === 'suspect', 30_000);
    const before = missed.count;
    expect(engine.engine.path.doubt).toMatch(/wake-ups keep going missing/);
    await until(() => engine.engine.path.state === 'up', 40_000);
    expect(engine.engine.path.doubt).toBeUndefined();
    expect(missed.count).toBe(before);
    const rows = await engine.settled.done(250, 40_000);
    // Without that all 250 are missed.
    expect(missed.count).toBeLessThan(125);
    expect(rows.slice(-20).map(({ due }) => due.cause)).toEqual(Array.from({ length: 20 }, () => 'message'));
  });

  it('of the plugin become punctual again when it had lost the binding of their queue', async () => {
    const plugin = await createVhost('plugin');
    engine = await startEngine(database, plugin.url, [new Lost()], {
      sweep: SWEEP,
      transport: 'auto',
      rabbit: { urls: [plugin.url], queueType: 'classic' },
    });
    await until(() => engine.engine.isMessagePathUp);
    await schedule(250, 2_000);
    await until(areHandedOver);
    const connection = await connect(plugin.url);
    const operator = await connection.createChannel();
    // What falls due has no queue to go to, and is dropped without a word.
    await operator.unbindQueue('order-timeout.v1.work.lost', 'order-timeout.v1.delayed', 'lost');
    const missed = countMissed();
    await until(() => engine.engine.path.state === 'suspect', 30_000);
    const before = missed.count;
    await until(() => engine.engine.path.state === 'up', 40_000);
    expect(missed.count).toBe(before);
    const rows = await engine.settled.done(250, 40_000);
    expect(missed.count).toBeLessThan(125);
    expect(rows.slice(-20).map(({ due }) => due.cause)).toEqual(Array.from({ length: 20 }, () => 'message'));
    await connection.close();
    await engine.close();
    await plugin.drop();
  });

  it('are published again at once when the broker is an empty one', async () => {
    await start();
    await until(async () => (await setting('owned-prefix')) === 'order-timeout.v1');
    await schedule(30, 6_000);
    await until(areHandedOver);
    await vhost.empty();
    await until(() => engine.engine.isMessagePathUp);
    const rows = await engine.settled.done(30, 30_000);
    expect(rows.filter(({ due }) => due.cause === 'message').length).toBeGreaterThanOrEqual(25);
    expect(Math.max(...rows.map(({ lateMs }) => lateMs))).toBeLessThan(500);
  });

  it('are published again when the broker lost its data while nobody ran', async () => {
    await start();
    await until(async () => (await setting('owned-prefix')) === 'order-timeout.v1');
    await schedule(30, 6_000);
    await until(areHandedOver);
    await engine.close();
    await vhost.empty();
    await start();
    const rows = await engine.settled.done(30, 30_000);
    expect(rows.filter(({ due }) => due.cause === 'message').length).toBeGreaterThanOrEqual(25);
  });

  it('are not suspected of the broker when they wait for a slow handler', async () => {
    const waiting = { release: (): void => undefined };
    const released = new Promise<void>((resolve) => (waiting.release = resolve));
    @TimeoutHandler('lost', { batchSize: 1, concurrency: 1, prefetch: 1 })
    class Slow implements TimeoutHandlerSingle {
      async handle(): Promise<typeof DONE> {
        await Promise.race([released, new Promise((resolve) => setTimeout(resolve, 400))]);
        return DONE;
      }
    }
    engine = await startEngine(database, vhost.url, [new Slow()], { sweep: SWEEP });
    await until(() => engine.engine.isMessagePathUp);
    await schedule(60, 1_000);
    await engine.settled.done(15, 20_000);
    expect(engine.engine.path.state).toBe('up');
    waiting.release();
    await engine.settled.done(60, 20_000);
    expect(engine.engine.path.state).toBe('up');
  });
});
