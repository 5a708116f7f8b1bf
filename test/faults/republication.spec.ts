import { connect, type Channel, type ChannelModel } from 'amqplib';
import {
  DONE,
  type DueTimeout,
  TimeoutHandler,
  type TimeoutHandlerSingle,
  type TimeoutOutcome,
  type TimeoutsOptions,
} from '../../src/timeouts';
import { type RabbitOptions } from '../../src/rabbit';
import { createDatabase, type TestDatabase } from '../support/database';
import { startEngine, type TestEngine, until } from '../support/engine';
import { createVhost, type TestVhost } from '../support/rabbit-vhost';

@TimeoutHandler('moved')
class Moved implements TimeoutHandlerSingle {
  readonly seen: DueTimeout[] = [];

  async handle(due: DueTimeout): Promise<TimeoutOutcome> {
    this.seen.push(due);
    return DONE;
  }
}

describe('another transport after a restart', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let direct: ChannelModel;
  let channel: Channel;
  let handler: Moved;

  beforeEach(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    direct = await connect(vhost.url);
    channel = await direct.createChannel();
    handler = new Moved();
  });

  afterEach(async () => {
    await direct.close();
    await database.drop();
    await vhost.drop();
  });

  const start = async (transport: 'ladder' | 'none', options: Partial<TimeoutsOptions> = {}): Promise<TestEngine> => {
    const engine = await startEngine(database, vhost.url, [handler], { transport, ...options });
    await until(async () => (await recorded()) === transport);
    return engine;
  };
  const recorded = async (): Promise<string | undefined> => {
    const [row] = await database.dataSource.query<{ value: string }[]>(
      `SELECT value FROM order_timeout.engine_setting WHERE name = 'delay-transport'`,
    );
    return row?.value;
  };
  const republication = async (): Promise<{ isRunning: boolean; rows: number } | undefined> => {
    const [row] = await database.dataSource.query<{ value: string }[]>(
      `SELECT value FROM order_timeout.engine_setting WHERE name = 'republication'`,
    );
    return row && (JSON.parse(row.value) as { isRunning: boolean; rows: number });
  };
  const delayQueues = async (): Promise<string[]> => {
    const queues = await vhost.manage<{ name: string }[]>('GET', `/queues/${vhost.name}`);
    return queues.map(({ name }) => name).filter((name) => name.includes('.delay'));
  };
  const wakeUps = async (): Promise<string[]> => {
    const rows = await database.dataSource.query<{ key: string }[]>(
      `SELECT body->>'key' AS key FROM order_timeout.outbox WHERE route = 'wake-up' ORDER BY 1`,
    );
    return rows.map(({ key }) => key);
  };
  const schedule = (engine: TestEngine, afterMs: Record<string, number>): Promise<unknown> =>
    database.dataSource.transaction((tx) =>
      engine.scheduler.schedule(
        Object.entries(afterMs).map(([key, ms]) => ({ kind: 'moved', key, afterMs: ms })),
        { tx },
      ),
    );

  it('hands everything that is pending to the broker when it comes after none', async () => {
    const before = await start('none');
    await schedule(before, { soon: 3_500, far: 7_200_000 });
    expect(await wakeUps()).toEqual([]);
    await before.close();
    const after = await start('ladder');
    await until(() => after.engine.isMessagePathUp);
    // Beyond the horizon of a minute the outbox keeps it.
    await until(async () => (await wakeUps()).join() === 'far');
    await after.settled.done(1);
    expect(handler.seen).toMatchObject([{ key: 'soon', cause: 'message', attempts: 0 }]);
    await after.close();
    // The same transport once more publishes nothing again.
    const again = await start('ladder');
    await until(() => again.engine.isMessagePathUp);
    expect(await wakeUps()).toEqual(['far']);
    await again.close();
  });

  const rabbit = (prefix: string): RabbitOptions => ({ urls: [vhost.url], queueType: 'classic', prefix });
  /** Whole seconds from now on, so many of them at each. */
  const spread = (count: number): Record<string, number> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`t-${index}`, 8_000 + (index % 3) * 1_000]));

  const expectAllByMessage = async (after: TestEngine): Promise<void> => {
    const rows = await after.settled.done(30);
    expect(rows.filter(({ due }) => due.cause !== 'message')).toEqual([]);
    expect(Math.max(...rows.map(({ lateMs }) => lateMs))).toBeLessThan(2_000);
    await after.close();
  };

  it.each<[string, Partial<TimeoutsOptions>, Partial<TimeoutsOptions>]>([
    ['another prefix', {}, { rabbit: { urls: [], prefix: 'moved.v2', queueType: 'classic' } }],
    ['another ladder', { ladder: { base: 8 } }, { ladder: { base: 4 } }],
  ])('brings everything by message after %s', async (_, first, second) => {
    const withUrl = ({ rabbit: given, ...rest }: Partial<TimeoutsOptions>): Partial<TimeoutsOptions> => ({
      ...rest,
      ...(given && { rabbit: { ...given, urls: [vhost.url] } }),
    });
    const before = await start('ladder', withUrl(first));
    await until(() => before.engine.isMessagePathUp);
    await schedule(before, spread(30));
    await until(async () => (await wakeUps()).length === 0);
    await before.close();
    await expectAllByMessage(await start('ladder', withUrl(second)));
  });

  it('brings everything by message after a build with three work queues per kind', async () => {
    const before = await start('ladder');
    await until(() => before.engine.isMessagePathUp);
    await schedule(before, spread(30));
    await until(async () => (await wakeUps()).length === 0);
    await before.close();
    // The wake-ups of that build would come to queues that no instance consumes now, which is as if they were gone.
    for (const queue of await delayQueues()) await channel.purgeQueue(queue);
    await database.dataSource.query(
      `UPDATE order_timeout.engine_setting SET value = regexp_replace(value, '/1$', '/3') WHERE name = 'message-path'`,
    );
    await expectAllByMessage(await start('ladder'));
  });

  it('is done once by several instances that start together', async () => {
    const before = await start('none');
    await schedule(before, Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`far-${index}`, 7_200_000])));
    await before.close();
    const instances = await Promise.all([1, 2, 3].map(() => startEngine(database, vhost.url, [handler])));
    await until(async () => (await republication())?.isRunning === false);
    expect(await wakeUps()).toHaveLength(20);
    await Promise.all(instances.map((instance) => instance.close()));
  });

  it('goes on where an instance that died has stopped', async () => {
    const before = await start('none');
    await schedule(before, { 'far-1': 7_200_000, 'far-2': 7_300_000, 'far-3': 7_400_000 });
    await before.close();
    await database.dataSource.query(
      `INSERT INTO order_timeout.engine_setting (name, value)
       SELECT 'republication', jsonb_build_object('isRunning', true, 'cause', 'test', 'all', true, 'kind', kind,
              'at', next_attempt_at::text, 'key', key, 'since', now()::text, 'sinceS', 0, 'rows', 1)::text
         FROM order_timeout.timeout WHERE key = 'far-1'`,
    );
    await database.dataSource.query(
      `INSERT INTO order_timeout.engine_setting (name, value) VALUES ('delay-transport', 'ladder')
       ON CONFLICT (name) DO UPDATE SET value = 'ladder'`,
    );
    await database.dataSource.query(
      `UPDATE order_timeout.engine_setting SET value = 'order-timeout.v1.delay-b8-u1000-classic/1' WHERE name = 'message-path'`,
    );
    const after = await start('ladder');
    await until(async () => (await republication())?.isRunning === false);
    expect(await wakeUps()).toEqual(['far-2', 'far-3']);
    expect(await republication()).toMatchObject({ rows: 3 });
    await after.close();
  });

  it('publishes everything again when an operator asks for it', async () => {
    const engine = await start('ladder', { rabbit: rabbit('order-timeout.v1') });
    await until(() => engine.engine.isMessagePathUp);
    await schedule(engine, { soon: 4_000 });
    await until(async () => (await wakeUps()).length === 0);
    for (const queue of await delayQueues()) await channel.purgeQueue(queue);
    expect(await engine.engine.path.republish()).toBe('requested');
    const [row] = await engine.settled.done(1);
    expect(row?.due.cause).toBe('message');
    expect(row?.lateMs).toBeLessThan(2_000);
    await engine.close();
  });

  it('removes the exchange of the plugin an hour after it was left', async () => {
    const left = 'order-timeout.v1.delayed';
    // Without the plugin the type does not matter: an exchange of this name is its exchange.
    await channel.assertExchange(left, 'direct', { durable: true });
    const exchanges = async (): Promise<string[]> =>
      (await vhost.manage<{ name: string }[]>('GET', `/exchanges/${vhost.name}`)).map(({ name }) => name);
    const early = await start('ladder');
    await until(async () => (await exchanges()).includes('order-timeout.v1.owner'));
    await early.close();
    expect(await exchanges()).toContain(left);
    await database.dataSource.query(
      `UPDATE order_timeout.engine_setting SET changed_at = now() - interval '61 minutes' WHERE name = 'message-path'`,
    );
    const late = await start('ladder');
    await until(async () => !(await exchanges()).includes(left));
    await late.close();
  });

  it('has nothing to publish without a broker', async () => {
    const engine = await start('none');
    expect(await engine.engine.path.republish()).toBe('off');
    await engine.close();
  });

  it('needs no broker any more when none comes after it', async () => {
    const before = await start('ladder');
    await until(() => before.engine.isMessagePathUp);
    await schedule(before, { soon: 2_500, far: 7_200_000 });
    await until(async () => (await wakeUps()).join() === 'far');
    await before.close();
    await channel.deleteQueue('order-timeout.v1.work.moved');
    const after = await start('none');
    await until(async () => (await wakeUps()).length === 0);
    const [row] = await after.settled.done(1);
    expect(handler.seen).toMatchObject([{ key: 'soon', cause: 'sweep' }]);
    expect(row?.lateMs).toBeLessThan(1_000);
    await after.close();
  });
});
