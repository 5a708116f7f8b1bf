import { connect, type Channel, type ChannelModel } from 'amqplib';
import { uuidv7 } from 'uuidv7';
import { Outbox } from '../../../src/outbox';
import { DONE, TimeoutHandler, type TimeoutHandlerSingle, type TimeoutOutcome } from '../../../src/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, type TestEngine, until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { killConnections } from '../rabbit/kill-connections';
import { stretched } from '../../support/machine-load';

const COUNT = 300;

@TimeoutHandler('without.transport')
class Single implements TimeoutHandlerSingle {
  async handle(): Promise<TimeoutOutcome> {
    return DONE;
  }
}

/** What goes wrong with the transport of wake-ups is nothing to events. */
describe('events, when wake-ups have no way', () => {
  const outbox = new Outbox({ schema: 'order_timeout', horizonMs: 60_000 });
  let database: TestDatabase;
  let vhost: TestVhost;
  let engine: TestEngine | undefined;
  let direct: ChannelModel;
  let channel: Channel;
  const received: string[] = [];

  beforeAll(async () => {
    database = await createDatabase();
  });

  afterEach(async () => {
    await engine?.close();
    await direct.close();
    await vhost.drop();
    await database.dataSource.query('TRUNCATE order_timeout.outbox, order_timeout.timeout');
  });

  afterAll(() => database.drop());

  const open = async (profile: 'plain' | 'plugin'): Promise<TestEngine> => {
    vhost = await createVhost(profile);
    direct = await connect(vhost.url);
    channel = await direct.createChannel();
    await channel.assertExchange('order-timeout.v1.events', 'topic', { durable: true });
    await channel.assertQueue('listener', { durable: true });
    await channel.bindQueue('listener', 'order-timeout.v1.events', '#');
    received.length = 0;
    const take = (id: unknown): unknown => received.push(String(id));
    await channel.consume('listener', (message) => message && take(message.properties.messageId), { noAck: true });
    return startEngine(database, vhost.url, [new Single()], { transport: 'delayed-exchange' });
  };
  const append = async (): Promise<string[]> => {
    const ids = Array.from({ length: COUNT }, () => uuidv7());
    await database.dataSource.transaction((tx) =>
      outbox.append(
        tx,
        ids.map((id) => ({ id, route: 'event', routingKey: 'order.closed', body: {} })),
      ),
    );
    return ids;
  };

  it('as the plugin that is configured is not there, leave in order, and the timeouts are handled on time', async () => {
    engine = await open('plain');
    const { scheduler, settled } = engine;
    await database.dataSource.transaction((tx) =>
      scheduler.schedule([{ kind: 'without.transport', key: 'a', afterMs: 3_000 }], { tx }),
    );
    const ids = await append();
    await until(() => received.length >= COUNT, 5_000);
    expect(received).toEqual(ids);
    expect(engine.engine.isMessagePathUp).toBe(false);
    const [row] = await settled.done(1);
    expect(row?.lateMs).toBeLessThan(stretched(1_000));
  });

  it('as their connection is ended again and again, leave in order and once', async () => {
    engine = await open('plugin');
    await until(() => engine?.engine.isMessagePathUp === true);
    const sent: string[] = [];
    for (let kill = 0; kill < 2; kill++) {
      expect(await killConnections(vhost, ':wake-up')).toBe(1);
      sent.push(...(await append()));
      await until(() => received.length >= sent.length, 5_000);
    }
    expect(received).toEqual(sent);
  });
});
