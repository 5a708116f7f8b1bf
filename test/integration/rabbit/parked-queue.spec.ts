import { Logger } from '@nestjs/common';
import { connect, type Channel, type ChannelModel } from 'amqplib';
import { SystemClock } from '../../../src/clock';
import { RabbitClient, resolveRabbitOptions } from '../../../src/rabbit';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

const PARKED = 'order-timeout.v1.parked';

describe('the parked queue', () => {
  let vhost: TestVhost;
  let direct: ChannelModel;
  let channel: Channel;
  let client: RabbitClient;

  beforeEach(async () => {
    Logger.overrideLogger(false);
    vhost = await createVhost();
    direct = await connect(vhost.url);
    channel = await direct.createChannel();
    client = new RabbitClient(resolveRabbitOptions({ urls: [vhost.url] }), new SystemClock());
  });

  afterEach(async () => {
    await client.close();
    await direct.close();
    await vhost.drop();
  });

  const start = async (): Promise<void> => {
    client.start();
    await until(() => client.isUp);
  };
  const park = (): Promise<unknown> =>
    client.publisher.publish([
      { exchange: PARKED, routingKey: 'order.paid', body: Buffer.from('{}'), messageId: 'm', type: 'order.paid' },
    ]);
  /** Reads like "Get messages" of the management page. @returns how often the message was there */
  async function look(times: number): Promise<number> {
    for (let looks = 0; looks < times; looks++) {
      const message = await channel.get(PARKED);
      if (!message) return looks;
      channel.reject(message, true);
    }
    return times;
  }

  /** On a connection of its own: where no queue is, or none is ready, the broker closes the channel or more. */
  async function countParked(): Promise<number> {
    const own = await connect(vhost.url);
    own.on('error', () => undefined);
    try {
      const asking = await own.createChannel();
      asking.on('error', () => undefined);
      return (await asking.checkQueue(PARKED)).messageCount;
    } catch {
      return 0;
    } finally {
      await own.close().catch(() => undefined);
    }
  }

  it('keeps its messages, however often they are read and put back', async () => {
    await start();
    expect(await park()).toEqual(['confirmed']);
    expect(await look(60)).toBe(60);
  });

  it.each(['quorum', 'classic'])(
    'is used as it is if it was declared with other arguments: %s, without a limit',
    async (type) => {
      await channel.assertQueue(PARKED, { durable: true, arguments: { 'x-queue-type': type } });
      await start();
      expect(await park()).toEqual(['confirmed']);
      await until(async () => (await channel.checkQueue(PARKED)).messageCount === 1);
    },
  );

  it.each([
    ['lost its binding', () => channel.unbindQueue(PARKED, PARKED, '')],
    ['was deleted', () => channel.deleteQueue(PARKED)],
  ])('gets what is parked after it %s', async (_what, breakIt) => {
    client.consume({
      queue: 'in',
      prefetch: 10,
      declare: (own) => own.assertQueue('in').then(() => undefined),
      onDelivery: (delivery) => void client.parked.park(delivery, { code: 'UNKNOWN_COMMAND', reason: 'no handler' }),
    });
    await start();
    await breakIt();
    channel.sendToQueue('in', Buffer.from('{}'));
    await until(async () => (await countParked()) === 1);
    expect((await channel.checkQueue('in')).messageCount).toBe(0);
  });

  it('is limited by the shipped policy if an earlier release declared it', async () => {
    await channel.assertQueue(PARKED, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
    const definition = { 'queue-leader-locator': 'balanced', 'delivery-limit': 1_000_000_000 };
    const policy = { pattern: '^order-timeout\\.v1\\.parked$', 'apply-to': 'queues', definition, priority: 1 };
    await vhost.manage('PUT', `/policies/${vhost.name}/parked`, policy);
    await start();
    expect(await park()).toEqual(['confirmed']);
    expect(await look(60)).toBe(60);
  });
});
