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

const KIND = 'hint.single';
const LATER_MS = 60_000;

@TimeoutHandler(KIND)
class Postponing implements TimeoutHandlerSingle {
  async handle({ attempts }: DueTimeout): Promise<TimeoutOutcome> {
    return attempts > 0 ? DONE : { type: 'retry', reason: 'not yet', afterMs: LATER_MS, counted: true };
  }
}

/** A wake-up that comes while the row waits for a later time must not turn into more wake-ups. */
describe('wake-ups for a timeout that is not due', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let direct: ChannelModel;
  let channel: Channel;
  let engine: TestEngine;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    direct = await connect(vhost.url);
    channel = await direct.createChannel();
    engine = await startEngine(database, vhost.url, [new Postponing()], { horizonMs: 10_000 });
    await until(() => engine.engine.isMessagePathUp);
  });

  beforeEach(async () => {
    await database.dataSource.transaction((tx) =>
      engine.scheduler.schedule([{ kind: KIND, key: 'postponed', afterMs: 0 }], { tx }),
    );
    engine.settled.rows.length = 0;
    await engine.settled.until((rows) => rows.length > 0);
  });

  afterEach(() => database.dataSource.query('TRUNCATE order_timeout.timeout, order_timeout.outbox'));

  afterAll(async () => {
    await engine.close();
    await direct.close();
    await database.drop();
    await vhost.drop();
  });

  const wakeUps = async (): Promise<number> => {
    const [row] = await database.dataSource.query<{ n: number }[]>(
      `SELECT count(*)::int AS n FROM order_timeout.outbox WHERE route = 'wake-up'`,
    );
    return row?.n ?? -1;
  };
  /** The row of a wake-up that is done goes with the broker's confirm, which may come after its effect. */
  const staysAt = async (count: number): Promise<void> => {
    await until(async () => (await wakeUps()) <= count);
    expect(await wakeUps()).toBe(count);
  };
  /** A later timeout that was handled shows that what came before it has been looked at. */
  const overtake = async (): Promise<void> => {
    await database.dataSource.transaction((tx) =>
      engine.scheduler.schedule([{ kind: KIND, key: 'mark', afterMs: 0 }], { tx }),
    );
    await engine.settled.until((rows) => rows.some(({ due }) => due.key === 'mark'));
    await engine.scheduler.find({ kind: KIND, key: 'mark' });
  };

  it('are not multiplied by reads', async () => {
    await staysAt(1);
    for (let read = 0; read < 20; read++) {
      engine.scheduler.wake([{ kind: KIND, key: 'postponed' }]);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await overtake();
    // Its own, and the one of the mark.
    await staysAt(2);
  });

  it('end when an old message of it comes, because the postponement has written a new one', async () => {
    const record = await engine.scheduler.find({ kind: KIND, key: 'postponed' });
    const body = { kind: KIND, key: 'postponed', generation: record?.generation, dueAt: 1 };
    for (let n = 0; n < 20; n++) {
      channel.publish('order-timeout.v1.work', KIND, Buffer.from(JSON.stringify(body)));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await until(async () => (await channel.checkQueue(`order-timeout.v1.work.${KIND}`)).messageCount === 0);
    await overtake();
    await staysAt(2);
  });
});
