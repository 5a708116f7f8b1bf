import { connect, type Channel, type ChannelModel } from 'amqplib';
import { DelayedExchange } from '../../../src/delay';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { describeDelayTransport } from './conformance';
import { DelayRig } from './delay-rig';

describeDelayTransport({
  title: 'DelayedExchange',
  profile: 'plugin',
  horizonMs: 1_260,
  // The exchange drops unroutable messages; an alternate exchange would deliver twice (plugin issue 36).
  unroutable: 'dropped',
  transportOf: (names) => new DelayedExchange(names),
});

describe('DelayedExchange above its limit', () => {
  let vhost: TestVhost;
  let rig: DelayRig;

  beforeAll(async () => {
    vhost = await createVhost('plugin');
    rig = await DelayRig.open(vhost.url, (names) => new DelayedExchange(names));
  });
  afterAll(async () => {
    await rig.close();
    await vhost.drop();
  });

  it('delays by a hundred days, although the plain number would be delivered immediately', async () => {
    await rig.wake('order.payment', 100 * 86_400_000);
    const short = await rig.wake('order.payment', 300);
    expect((await rig.handles(1)).map(({ id }) => id)).toEqual([short]);
    expect(rig.deliveryCount).toBe(1);
  });
});

/** Holds for the real plugin (3.10.2 on 3.10.8, 4.0.7 on 4.0.5) and for the stand-in. */
describe('an exchange x-delayed-message', () => {
  const NAME = 'delayed';
  let vhost: TestVhost;
  let connection: ChannelModel;
  let channel: Channel;
  let ended: Promise<{ code?: number }>;

  beforeEach(async () => {
    vhost = await createVhost('plugin');
    connection = await connect(vhost.url);
    ended = new Promise((resolve) => connection.on('error', resolve));
    channel = await connection.createChannel();
    channel.on('error', () => undefined);
  });

  afterEach(async () => {
    await connection.close().catch(() => undefined);
    await vhost.drop();
  });

  const declare = async (queue: string): Promise<void> => {
    const type = { arguments: { 'x-delayed-type': 'direct' } };
    await channel.assertExchange(NAME, 'x-delayed-message', type);
    await channel.assertQueue(queue);
    await channel.bindQueue(queue, NAME, 'key');
  };
  const next = (queue: string): Promise<string> =>
    new Promise((resolve) => {
      void channel.consume(queue, (message) => message && resolve(message.content.toString()), { noAck: true });
    });

  it('delivers waiting messages after it was deleted and declared again', async () => {
    await declare('before');
    channel.publish(NAME, 'key', Buffer.from('a'), { headers: { 'x-delay': { '!': 'int64', value: 1_000 } } });
    await channel.deleteExchange(NAME);
    await declare('after');
    expect(await next('after')).toBe('a');
  });

  it.each([
    ['text that is not a number', 'abc'],
    ['a decimal', { '!': 'decimal', value: { digits: 15, places: 1 } }],
  ])('closes the connection for a delay of %s', async (_, delay) => {
    await declare('queue');
    channel.publish(NAME, 'key', Buffer.from('a'), { headers: { 'x-delay': delay } });
    expect((await ended).code).toBe(541);
  });

  it('rejects an unknown inner type', async () => {
    const type = { arguments: { 'x-delayed-type': 'nonsense' } };
    await expect(channel.assertExchange(NAME, 'x-delayed-message', type)).rejects.toThrow();
  });
});
