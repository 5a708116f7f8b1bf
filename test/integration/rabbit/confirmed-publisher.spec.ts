import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { connect, type Channel, type ChannelModel } from 'amqplib';
import { SystemClock } from '../../../src/clock';
import { type Publication, RabbitClient, resolveRabbitOptions } from '../../../src/rabbit';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { killConnections } from './kill-connections';

describe('the confirmed publisher', () => {
  let vhost: TestVhost;
  let client: RabbitClient;
  let direct: ChannelModel;
  let channel: Channel;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    vhost = await createVhost();
    direct = await connect(vhost.url);
    channel = await direct.createChannel();
    await channel.assertQueue('open', { durable: true, arguments: { 'x-queue-type': 'classic' } });
    const full = { 'x-queue-type': 'classic', 'x-max-length': 0, 'x-overflow': 'reject-publish' };
    await channel.assertQueue('full', { durable: true, arguments: full });
  });

  beforeEach(async () => {
    client = new RabbitClient(resolveRabbitOptions({ urls: [vhost.url], queueType: 'classic' }), new SystemClock());
    client.start();
    await until(() => client.publisher.isReady);
  });

  afterEach(() => client.close());

  afterAll(async () => {
    await direct.close();
    await vhost.drop();
  });

  const to = (queue: string, mandatory = true): Publication => ({
    exchange: '',
    routingKey: queue,
    body: Buffer.from('{}'),
    messageId: randomUUID(),
    type: 'test',
    mandatory,
  });

  it('distinguishes confirmed, returned, and nacked within one pipelined call, in order', async () => {
    const outcomes = await client.publisher.publish([
      to('open'),
      to('nowhere'),
      to('nowhere', false),
      to('full'),
      to('open'),
    ]);
    expect(outcomes).toEqual(['confirmed', 'returned', 'confirmed', 'nacked', 'confirmed']);
    expect(await channel.purgeQueue('open')).toEqual({ messageCount: 2 });
  });

  it('publishes persistent messages with id, type, and headers', async () => {
    const publication = { ...to('open'), headers: { traceparent: '00-ab-cd-01' } };
    await client.publisher.publish([publication]);
    const message = await channel.get('open', { noAck: true });
    expect(message && message.properties).toMatchObject({
      deliveryMode: 2,
      messageId: publication.messageId,
      type: 'test',
      contentType: 'application/json',
      headers: { traceparent: '00-ab-cd-01' },
    });
  });

  it('settles far more publications than fit into its window', async () => {
    const outcomes = await client.publisher.publish(Array.from({ length: 2_000 }, () => to('open')));
    expect(new Set(outcomes)).toEqual(new Set(['confirmed']));
    expect(await channel.purgeQueue('open')).toEqual({ messageCount: 2_000 });
  });

  it('settles every publication if the connection is killed, loses no confirmed message, and works again', async () => {
    const seen: string[] = [];
    const publishing = (async () => {
      while (!seen.includes('unknown')) {
        seen.push(...(await client.publisher.publish(Array.from({ length: 400 }, () => to('open')))));
      }
    })();
    await until(() => seen.includes('confirmed'));
    expect(await killConnections(vhost, ':publish')).toBe(1);
    await publishing;
    expect(new Set(seen)).toEqual(new Set(['confirmed', 'unknown']));
    await until(() => !client.publisher.isReady);
    expect(await client.publisher.publish([to('open')])).toEqual(['unknown']);
    await until(() => client.publisher.isReady);
    expect(await client.publisher.publish([to('open')])).toEqual(['confirmed']);
    const { messageCount } = await channel.purgeQueue('open');
    expect(messageCount).toBeGreaterThan(seen.filter((outcome) => outcome === 'confirmed').length);
  });

  it('reports unknown for all publications after a channel error, and opens the channel again', async () => {
    const outcomes = await client.publisher.publish([{ ...to('open'), exchange: 'does-not-exist' }]);
    expect(outcomes).toEqual(['unknown']);
    await until(() => client.publisher.isReady);
    expect(await client.publisher.publish([to('open')])).toEqual(['confirmed']);
    await channel.purgeQueue('open');
  });

  it('reports unencodable messages immediately, and settles the others by their own answers', async () => {
    const headers = { tenant: 'x'.repeat(70_000) };
    const outcomes = await client.publisher.publish([
      { ...to('open'), headers },
      to('full'),
      to('open'),
      { ...to('open'), messageId: 'x'.repeat(256) },
      to('nowhere'),
      to('full'),
    ]);
    expect(outcomes).toEqual(['unencodable', 'nacked', 'confirmed', 'unencodable', 'returned', 'nacked']);
    expect(client.publisher.isReady).toBe(true);
    await channel.purgeQueue('open');
  });

  it('reports unknown immediately while there is no broker', async () => {
    const options = resolveRabbitOptions({ urls: ['amqp://127.0.0.1:9'], queueType: 'classic' });
    const lonely = new RabbitClient(options, new SystemClock());
    lonely.start();
    expect(await lonely.publisher.publish([to('open'), to('open')])).toEqual(['unknown', 'unknown']);
    await lonely.close();
  });
});
