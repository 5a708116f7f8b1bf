import { type Channel, type ChannelModel, connect, type Options } from 'amqplib';
import { fromWaitingQueue } from '../../../examples/moving/from-waiting-queue';
import { ImportTarget } from '../../support/import-target';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

const QUEUE = 'order-wait';
const TTL_MS = 900_000;

describe('the import from a waiting queue', () => {
  let target: ImportTarget;
  let vhost: TestVhost;
  let connection: ChannelModel;
  let channel: Channel;

  beforeAll(async () => {
    [target, vhost] = await Promise.all([ImportTarget.open(), createVhost()]);
    connection = await connect(vhost.url);
  });
  afterAll(async () => {
    await connection.close();
    await vhost.drop();
    await target.close();
  });

  beforeEach(async () => {
    channel = await connection.createChannel();
    await channel.assertQueue(QUEUE, { arguments: { 'x-message-ttl': TTL_MS } });
    await channel.purgeQueue(QUEUE);
  });
  afterEach(() => target.forget());

  async function publish(ids: readonly string[], options: Options.Publish = {}): Promise<void> {
    const publisher = await connection.createConfirmChannel();
    for (const id of ids) publisher.sendToQueue(QUEUE, Buffer.from(id), { persistent: true, ...options });
    await publisher.waitForConfirms();
    await publisher.close();
  }

  const waiting = async (): Promise<number> => {
    await channel.close();
    channel = await connection.createChannel();
    return (await channel.checkQueue(QUEUE)).messageCount;
  };

  it('takes every message, and leaves none', async () => {
    const ids = Array.from({ length: 1_200 }, (_, index) => `o-${String(index).padStart(4, '0')}`);
    await publish(ids);
    expect(await target.import(fromWaitingQueue(channel, QUEUE, TTL_MS))).toBe(1_200);
    expect((await target.pending()).map(({ orderId }) => orderId)).toEqual(ids);
    expect(await waiting()).toBe(0);
  });

  it('sets the deadline one TTL after the message was published, or sooner if the message expires sooner', async () => {
    const seconds = 1_900_000_000;
    await publish(['o-1'], { timestamp: seconds });
    await publish(['o-2'], { timestamp: seconds, expiration: 60_000 });
    await target.import(fromWaitingQueue(channel, QUEUE, TTL_MS));
    // A timestamp of AMQP has no fractions, so the message may be almost a second younger.
    expect(await target.pending()).toEqual([
      { orderId: 'o-1', dueAt: new Date((seconds + 1) * 1_000 + TTL_MS) },
      { orderId: 'o-2', dueAt: new Date((seconds + 1) * 1_000 + 60_000) },
    ]);
  });

  it('starts the TTL again if the message does not say when it was published', async () => {
    await publish(['o-1']);
    const before = Date.now();
    await target.import(fromWaitingQueue(channel, QUEUE, TTL_MS));
    const [order] = await target.pending();
    expect(order?.dueAt.getTime()).toBeGreaterThanOrEqual(before + TTL_MS);
  });

  it('leaves the messages in the queue if their deadlines cannot be stored', async () => {
    await publish(['o-1', '']);
    await expect(target.import(fromWaitingQueue(channel, QUEUE, TTL_MS))).rejects.toThrow('key');
    expect(await waiting()).toBe(2);
  });
});
