import { Logger } from '@nestjs/common';
import { connect, type Channel, type ChannelModel } from 'amqplib';
import { uuidv7 } from 'uuidv7';
import { Outbox } from '../../src/outbox';
import { DONE, TimeoutHandler, type TimeoutHandlerSingle, type TimeoutOutcome } from '../../src/timeouts';
import { OwnBroker } from '../support/servers/own-broker';
import { createDatabase, type TestDatabase } from '../support/database';
import { startEngine, type TestEngine, until } from '../support/engine';

const KIND = 'sick.single';
/** Where what is due in 16 to 24 s waits first. */
const SICK = 'order-timeout.v1.delay-b8-u1000.1.02';
const PER_SECOND = 10;

@TimeoutHandler(KIND)
class Single implements TimeoutHandlerSingle {
  async handle(): Promise<TimeoutOutcome> {
    return DONE;
  }
}

const MAX_BYTES = 100_000;

/** A queue whose process answers nobody never confirms; a message above the limit closes the channel. */
describe('on a broker in trouble', () => {
  const outbox = new Outbox({ schema: 'order_timeout', horizonMs: 60_000 });
  let database: TestDatabase;
  let broker: OwnBroker;
  let engine: TestEngine;
  let direct: ChannelModel;
  let channel: Channel;
  const came: { readonly id: string; readonly ms: number }[] = [];

  beforeAll(async () => {
    Logger.overrideLogger(false);
    [database, broker] = await Promise.all([createDatabase(), OwnBroker.open({ profile: 'plain' })]);
    await broker.limitMessages(MAX_BYTES);
    direct = await connect(broker.amqpUrl);
    channel = await direct.createChannel();
    engine = await startEngine(database, broker.amqpUrl, [new Single()], {
      rabbit: { urls: [broker.amqpUrl], queueType: 'quorum' },
    });
    await until(() => engine.engine.isMessagePathUp, 60_000);
    const { queue } = await channel.assertQueue('listener', { durable: true });
    await channel.bindQueue(queue, 'order-timeout.v1.events', '#');
    await channel.consume(
      queue,
      (message) => {
        if (!message) return;
        const { sentAt } = JSON.parse(message.content.toString()) as { sentAt: number };
        came.push({ id: String(message.properties.messageId), ms: Date.now() - sentAt });
      },
      { noAck: true },
    );
  });

  afterAll(async () => {
    await engine?.close();
    await direct?.close();
    await broker?.close();
    await database?.drop();
  });

  const appendEvent = async (): Promise<string> => {
    const id = uuidv7();
    const entry = { id, route: 'event' as const, routingKey: 'order.closed', body: { sentAt: Date.now() } };
    await database.dataSource.transaction((tx) => outbox.append(tx, [entry]));
    return id;
  };
  const schedule = (key: string, afterMs: number): Promise<unknown> =>
    database.dataSource.transaction((tx) => engine.scheduler.schedule([{ kind: KIND, key, afterMs }], { tx }));

  it('a message above its limit is parked with the reason, and the others are sent', async () => {
    const bytesOf = [10, MAX_BYTES + 1, 20, 2 * MAX_BYTES, 30];
    const entries = bytesOf.map((bytes) => ({
      id: uuidv7(),
      route: 'event' as const,
      routingKey: 'order.closed',
      body: { sentAt: Date.now(), text: 'x'.repeat(bytes) },
    }));
    await database.dataSource.transaction((tx) => outbox.append(tx, entries));
    await until(async () => (await outbox.backlog(database.dataSource)).rows === 0);
    const parked = await database.dataSource.query<{ id: string; reason: string }[]>(
      'SELECT id, parked_reason AS reason FROM order_timeout.outbox WHERE parked_reason IS NOT NULL ORDER BY id',
    );
    const reason = expect.stringMatching(/^a body of \d{6} bytes; the broker's max_message_size is 100000$/) as string;
    expect(parked).toEqual([entries[1], entries[3]].map((entry) => ({ id: entry?.id, reason })));
    const small = [entries[0], entries[2], entries[4]].map((entry) => entry?.id);
    expect([...new Set(came.map(({ id }) => id))].sort()).toEqual(small);
  });

  it('events are as quick as before beside a sick queue, come once, and the path counts as down until its confirms are back', async () => {
    came.length = 0;
    expect(await broker.suspendQueue(SICK)).toBe(true);
    const sent: string[] = [];
    const until25s = Date.now() + 25_000;
    for (let n = 0; Date.now() < until25s; n++) {
      sent.push(await appendEvent());
      await schedule(`key-${n}`, n % 2 === 0 ? 20_000 : 3_000);
      await new Promise((resolve) => setTimeout(resolve, 1_000 / PER_SECOND));
    }
    const isDown = !engine.engine.isMessagePathUp;
    await until(() => new Set(came.map(({ id }) => id)).size === sent.length, 90_000).catch(() => undefined);
    const slowest = Math.max(...came.map(({ ms }) => ms));
    await broker.resumeQueue(SICK);
    const doubles = came.length - new Set(came.map(({ id }) => id)).size;
    expect({ slowest: slowest < 2_000, doubles, isDown }).toEqual({ slowest: true, doubles: 0, isDown: true });
    await until(() => engine.engine.isMessagePathUp, 60_000);
  }, 240_000);
});
