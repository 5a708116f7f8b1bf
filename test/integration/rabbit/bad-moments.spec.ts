import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { connect } from 'amqplib';
import { SystemClock, type Timer, withTimeout } from '../../../src/clock';
import {
  type ManualAckConsumer,
  type Publication,
  RabbitClient,
  resolveRabbitOptions,
  type RabbitOptions,
} from '../../../src/rabbit';
import { TcpProxy } from '../../support/servers/tcp-proxy';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { stretched } from '../../support/machine-load';
import { deliveryOn, recordingChannel } from '../../unit/rabbit/deliveries';

const QUEUE = 'consumed';
const clock = new SystemClock();

/** Records which timers are set. */
class WatchedClock extends SystemClock {
  readonly open = new Set<Timer>();

  override after(ms: number, task: () => void): Timer {
    const own = super.after(ms, () => {
      this.open.delete(timer);
      task();
    });
    const timer = { cancel: () => void (this.open.delete(timer), own.cancel()) };
    this.open.add(timer);
    return timer;
  }
}

describe('the broker client at bad moments', () => {
  let vhost: TestVhost;
  let proxy: TcpProxy;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    vhost = await createVhost();
  });

  beforeEach(async () => {
    proxy = await TcpProxy.open(vhost.url);
  });

  afterEach(() => proxy.shut());

  afterAll(() => vhost.drop());

  const open = (options: Partial<RabbitOptions> = {}, time = clock): RabbitClient =>
    new RabbitClient(resolveRabbitOptions({ urls: [proxy.url], queueType: 'classic', ...options }), time);

  const consume = (client: RabbitClient): ManualAckConsumer =>
    client.consume({
      queue: QUEUE,
      prefetch: 10,
      declare: async (channel) => void (await channel.assertQueue(QUEUE, { durable: true })),
      onDelivery: (delivery) => delivery.acknowledge('ack'),
    });

  const event = (): Publication => ({
    exchange: 'order-timeout.v1.events',
    routingKey: 'x',
    body: Buffer.from('{}'),
    messageId: randomUUID(),
    type: 'x',
  });

  it('opens no connection once it is closed, whatever a handler that outlives it still wants to answer', async () => {
    const client = open();
    await client.close();
    const delivery = deliveryOn(recordingChannel().channel, { replyTo: 'amq.gen-late' });
    const answer = client.replies.send(delivery, {});
    delivery.forget();
    expect(await answer).toBe(false);
    expect((client as unknown as { answering: { manager: unknown } }).answering.manager).toBeUndefined();
  });

  it('settles every publication that waits for the window if the connection is lost', async () => {
    const client = open({ publishWindow: 10 });
    client.start();
    await until(() => client.publisher.isReady);
    proxy.mute();
    const publishing = client.publisher.publish(Array.from({ length: 100 }, event));
    await new Promise((resolve) => setImmediate(resolve));
    proxy.hangUp();
    const outcomes = await withTimeout<unknown>(clock, stretched(3_000), publishing, 'pending');
    await client.close();
    expect(outcomes).not.toBe('pending');
    expect(outcomes).toHaveLength(100);
  });

  it('closes within seconds while the broker does not respond', async () => {
    const client = open({ confirmTimeoutMs: 300 });
    client.start();
    await until(() => client.publisher.isReady);
    proxy.mute();
    expect(await client.publisher.publish([event()])).toEqual(['unknown']);
    const closed = await withTimeout(
      clock,
      stretched(7_000),
      client.close().then(() => true),
      false,
    );
    expect(closed).toBe(true);
  });

  it('continues with one consumer, and stops it, if it is suspended while it starts to consume', async () => {
    const client = open();
    const consumer = consume(client);
    client.start();
    await until(() => client.isUp);
    await consumer.suspend();
    // The request to consume has been sent and not answered yet.
    const resuming = consumer.resume();
    await consumer.suspend();
    await resuming;
    expect(consumer.isConsuming).toBe(false);
    await consumer.resume();
    expect(consumer.isConsuming).toBe(true);
    const direct = await connect(vhost.url);
    const channel = await direct.createChannel();
    const consumers = async (): Promise<number> => (await channel.checkQueue(QUEUE)).consumerCount;
    await until(async () => (await consumers()) > 0);
    expect(await consumers()).toBe(1);
    await client.stopConsuming();
    expect(await consumers()).toBe(0);
    await direct.close();
    await client.drain(50);
    await client.close();
  });

  it('leaves no timer if it is stopped while it is being suspended', async () => {
    const watched = new WatchedClock();
    const client = open({}, watched);
    const consumer = consume(client);
    client.start();
    await until(() => client.isUp);
    const suspending = consumer.suspend();
    await consumer.stop();
    await suspending;
    await client.drain(50);
    await client.close();
    expect(watched.open.size).toBe(0);
  });
});
