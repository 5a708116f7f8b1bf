import { Logger } from '@nestjs/common';
import { connect, type Channel, type ChannelModel } from 'amqplib';
import { SystemClock } from '../../../src/clock';
import { type Delivery, type ManualAckConsumer, RabbitClient, resolveRabbitOptions } from '../../../src/rabbit';
import { TcpProxy } from '../../support/servers/tcp-proxy';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

const QUEUE = 'consumed';

describe('the consumer with manual acknowledgement', () => {
  let vhost: TestVhost;
  let proxy: TcpProxy;
  let direct: ChannelModel;
  let channel: Channel;
  let client: RabbitClient;
  let consumer: ManualAckConsumer;
  let deliveries: Delivery[];

  beforeAll(async () => {
    Logger.overrideLogger(false);
    vhost = await createVhost();
    proxy = await TcpProxy.open(vhost.url);
    direct = await connect(vhost.url);
    channel = await direct.createChannel();
  });

  beforeEach(async () => {
    deliveries = [];
    client = new RabbitClient(resolveRabbitOptions({ urls: [proxy.url], queueType: 'classic' }), new SystemClock());
    consumer = client.consume({
      queue: QUEUE,
      prefetch: 3,
      declare: async (own) => void (await own.assertQueue(QUEUE, { durable: true })),
      onDelivery: (delivery) => deliveries.push(delivery),
    });
    client.start();
    await until(() => client.isUp);
  });

  afterEach(async () => {
    await client.close();
    await channel.deleteQueue(QUEUE);
  });

  afterAll(async () => {
    await direct.close();
    await proxy.shut();
    await vhost.drop();
  });

  const send = (...bodies: string[]): void => {
    for (const body of bodies) channel.sendToQueue(QUEUE, Buffer.from(body), { persistent: true });
  };
  const bodies = (): string[] => deliveries.map(({ body }) => body.toString());
  const taken = async (count: number): Promise<Delivery[]> => {
    await until(() => deliveries.length >= count);
    return deliveries.splice(0);
  };
  const left = async (): Promise<number> => (await channel.checkQueue(QUEUE)).messageCount;

  it('receives no more than its prefetch, and the next message only after an acknowledgment', async () => {
    send('a', 'b', 'c', 'd');
    await until(() => deliveries.length === 3);
    expect(await left()).toBe(1);
    deliveries[1]?.acknowledge('ack');
    await until(() => deliveries.length === 4);
    expect(bodies()).toEqual(['a', 'b', 'c', 'd']);
    for (const delivery of deliveries) delivery.acknowledge('ack');
    expect(consumer.unacknowledgedCount).toBe(0);
  });

  it('acknowledges no other message if an acknowledgment comes after a reconnect', async () => {
    send('old');
    const [old] = await taken(1);
    proxy.hangUp();
    await until(() => !consumer.isConsuming);
    await until(() => consumer.isConsuming);
    const [again] = await taken(1);
    expect(again?.message.fields.redelivered).toBe(true);
    // On the new channel, the tag of `old` is the tag of `again`. An acknowledgment there would remove that message.
    expect(again?.message.fields.deliveryTag).toBe(old?.message.fields.deliveryTag);
    old?.acknowledge('ack');
    await client.stopConsuming();
    expect(await client.drain(50)).toBe(1);
    expect(await left()).toBe(1);
  });

  it('is acknowledged only once, and the first acknowledgment counts', async () => {
    send('once', 'other');
    const [once, other] = await taken(2);
    once?.acknowledge('requeue');
    once?.acknowledge('ack');
    const [again] = await taken(1);
    expect(again?.body.toString()).toBe('once');
    again?.acknowledge('ack');
    other?.acknowledge('ack');
    await client.stopConsuming();
    expect(await client.drain(1_000)).toBe(0);
    expect(await left()).toBe(0);
  });

  it('declares and consumes again if its queue is deleted, and says so once', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn');
    await channel.deleteQueue(QUEUE);
    await until(() => !consumer.isConsuming);
    await until(() => consumer.isConsuming);
    expect(warn.mock.calls).toEqual([[expect.stringContaining(`the queue "${QUEUE}" was deleted`)]]);
    warn.mockRestore();
    send('after');
    const [after] = await taken(1);
    expect(after?.body.toString()).toBe('after');
    after?.acknowledge('ack');
  });

  it('consumes again after each of several lost connections', async () => {
    for (const round of ['first', 'second']) {
      proxy.hangUp();
      await until(() => !consumer.isConsuming);
      await until(() => consumer.isConsuming);
      send(round);
      const [delivery] = await taken(1);
      expect(delivery?.body.toString()).toBe(round);
      delivery?.acknowledge('ack');
      // The broker serves requests and acknowledgments of a channel in order, so an answer means that it has both.
      await consumer.suspend();
      await consumer.resume();
    }
  });

  it('receives nothing while it is suspended, even after a reconnect, and counts as open', async () => {
    await consumer.suspend();
    send('while suspended');
    expect(client.isUp).toBe(true);
    proxy.hangUp();
    await until(() => !client.isUp);
    await until(() => client.isUp);
    expect(consumer.isConsuming).toBe(false);
    expect(deliveries).toEqual([]);
    await consumer.resume();
    await until(() => deliveries.length > 0);
    expect(bodies()).toEqual(['while suspended']);
    const [only] = await taken(1);
    only?.acknowledge('ack');
    send('later');
    await until(() => deliveries.length === 1);
    expect(bodies()).toEqual(['later']);
    const queue = await channel.checkQueue(QUEUE);
    expect(queue.consumerCount).toBe(1);
    deliveries[0]?.acknowledge('ack');
  });

  it('receives nothing after it was stopped, and returns unacknowledged messages', async () => {
    send('a', 'b', 'c', 'd');
    await until(() => deliveries.length === 3);
    deliveries[0]?.acknowledge('ack');
    await client.stopConsuming();
    expect(await client.drain(50)).toBeGreaterThanOrEqual(2);
    expect(await left()).toBe(3);
    deliveries[1]?.acknowledge('ack');
    expect(await left()).toBe(3);
  });

  it('parks a message that cannot be processed with the reason and without the headers of the broker', async () => {
    const headers = { tenant: 'blue', 'x-delay': 5, 'x-death': [] };
    channel.sendToQueue(QUEUE, Buffer.from('garbage'), { headers, messageId: 'm-1', type: 'odd' });
    const [garbage] = await taken(1);
    if (garbage) await client.parked.park(garbage, { code: 'TEST', reason: 'r'.repeat(5_000) });
    const parked = await channel.get(client.names.parked, { noAck: true });
    if (!parked) throw new Error('nothing was parked');
    expect(parked.content.toString()).toBe('garbage');
    expect(parked.properties).toMatchObject({ messageId: 'm-1', type: 'odd', deliveryMode: 2 });
    expect(parked.properties.headers).toEqual({
      tenant: 'blue',
      'x-ot-error-code': 'TEST',
      'x-ot-error-reason': 'r'.repeat(2_000),
    });
    expect(consumer.unacknowledgedCount).toBe(0);
  });
});
