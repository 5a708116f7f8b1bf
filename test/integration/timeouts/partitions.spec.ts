import { connect, type Channel, type ChannelModel } from 'amqplib';
import { type DueTimeout, TimeoutHandler, type TimeoutHandlerSingle } from '../../../src/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, type TestEngine, until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

const KIND = 'spread';
const QUEUES = ['', ':1', ':2'].map((partition) => `order-timeout.v1.work.${KIND}${partition}`);

@TimeoutHandler(KIND)
class Spread implements TimeoutHandlerSingle {
  readonly seen: DueTimeout[] = [];

  async handle(due: DueTimeout): Promise<void> {
    this.seen.push(due);
  }
}

describe('work queues in partitions', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let direct: ChannelModel;
  let channel: Channel;
  let handler: Spread;

  const open = async (profile: 'plain' | 'plugin'): Promise<void> => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost(profile)]);
    direct = await connect(vhost.url);
    channel = await direct.createChannel();
    handler = new Spread();
  };

  afterEach(async () => {
    await direct.close();
    await database.drop();
    await vhost.drop();
  });

  const schedule = (engine: TestEngine, afterMs: Record<string, number>): Promise<unknown> =>
    database.dataSource.transaction((tx) =>
      engine.scheduler.schedule(
        Object.entries(afterMs).map(([key, ms]) => ({ kind: KIND, key, afterMs: ms })),
        { tx },
      ),
    );
  const untilPublished = (): Promise<unknown> =>
    until(async () => (await database.dataSource.query<unknown[]>('SELECT 1 FROM order_timeout.outbox')).length === 0);

  it.each(['ladder', 'delayed-exchange'] as const)(
    'each get their share by %s, and are all worked off',
    async (transport) => {
      await open(transport === 'ladder' ? 'plain' : 'plugin');
      const options = { transport, partitions: 3 };
      const scheduling = await startEngine(database, vhost.url, [handler], { ...options, consume: false });
      await until(() => scheduling.engine.isMessagePathUp);
      const keys = Array.from({ length: 60 }, (_, n) => `k-${n}`);
      // Half of them go straight to work, the others wait at the broker first.
      await schedule(scheduling, Object.fromEntries(keys.map((key, n) => [key, n % 2 === 0 ? 0 : 1_500])));
      const counts = async (): Promise<number[]> => {
        const queues = await Promise.all(QUEUES.map((queue) => channel.checkQueue(queue)));
        return queues.map(({ messageCount }) => messageCount);
      };
      await until(async () => (await counts()).reduce((sum, count) => sum + count) === keys.length);
      for (const count of await counts()) expect(count).toBeGreaterThan(5);
      await scheduling.close();
      const working = await startEngine(database, vhost.url, [handler], options);
      await working.settled.done(keys.length);
      expect(handler.seen.map(({ key }) => key).sort()).toEqual(keys.sort());
      await until(async () => (await counts()).every((count) => count === 0));
      await working.close();
    },
  );

  it('deliver what was waiting when there was only one', async () => {
    await open('plain');
    const one = await startEngine(database, vhost.url, [handler], { transport: 'ladder' });
    await until(() => one.engine.isMessagePathUp);
    await schedule(one, { a: 2_500, b: 2_500, c: 2_500, d: 2_500 });
    await untilPublished();
    await one.close();
    const three = await startEngine(database, vhost.url, [handler], { transport: 'ladder', partitions: 3 });
    await three.settled.done(4);
    expect(handler.seen.map(({ cause }) => cause)).toEqual(Array(4).fill('message'));
    await three.close();
  });
});
