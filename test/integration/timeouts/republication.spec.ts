import { connect, type Channel, type ChannelModel } from 'amqplib';
import {
  DONE,
  type DueTimeout,
  TimeoutHandler,
  type TimeoutHandlerSingle,
  type TimeoutOutcome,
} from '../../../src/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, type TestEngine, until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

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

  const start = async (transport: 'ladder' | 'none'): Promise<TestEngine> => {
    const engine = await startEngine(database, vhost.url, [handler], { transport });
    await until(async () => (await recorded()) === transport);
    return engine;
  };
  const recorded = async (): Promise<string | undefined> => {
    const [row] = await database.dataSource.query<{ value: string }[]>(
      'SELECT value FROM order_timeout.engine_setting',
    );
    return row?.value;
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
        tx,
        Object.entries(afterMs).map(([key, ms]) => ({ kind: 'moved', key, afterMs: ms })),
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
