import { EventEmitter } from 'node:events';
import { Logger } from '@nestjs/common';
import { type Channel, type ChannelModel, type ConsumeMessage } from 'amqplib';
import { SystemClock } from '../../../src/clock';
import { ManualAckConsumer } from '../../../src/rabbit';
import { type RabbitConnection } from '../../../src/rabbit/rabbit-connection';

const clock = new SystemClock();

type OnMessage = (message: ConsumeMessage | null) => void;

/** A channel that answers when the test says so. */
class FakeChannel extends EventEmitter {
  readonly consuming = new Set<string>();
  readonly prefetch = async (): Promise<void> => undefined;
  answerConsume = (): void => undefined;
  onMessage: OnMessage = () => undefined;
  isClosed = false;

  consume(_queue: string, onMessage: OnMessage, { consumerTag }: { consumerTag: string }): Promise<unknown> {
    this.consuming.add(consumerTag);
    this.onMessage = onMessage;
    return new Promise((resolve) => (this.answerConsume = () => resolve({ consumerTag })));
  }

  async cancel(consumerTag: string): Promise<void> {
    this.consuming.delete(consumerTag);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.emit('close');
  }
}

/** Enough turns for all promises that can settle now. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
};

describe('a consumer that starts to consume', () => {
  let channels: FakeChannel[];
  let consumer: ManualAckConsumer;
  let serves: boolean;

  beforeEach(async () => {
    Logger.overrideLogger(false);
    channels = [];
    serves = true;
    const model = {
      createChannel: async () => {
        const channel = new FakeChannel();
        channels.push(channel);
        return channel as unknown as Channel;
      },
    } as unknown as ChannelModel;
    const connection = {
      model,
      onConnect: (listener: (connected: ChannelModel) => void) => {
        listener(model);
        return () => undefined;
      },
    } as unknown as RabbitConnection;
    consumer = new ManualAckConsumer(connection, clock, {
      queue: 'q',
      prefetch: 1,
      prepare: async () => undefined,
      onDelivery: () => undefined,
      onUnreadable: () => undefined,
      serves: async () => serves,
    });
    await settled();
  });

  afterEach(async () => {
    await consumer.stop();
    await consumer.close();
  });

  it('does not consume if it was stopped before the broker answered', async () => {
    await consumer.stop();
    channels[0]?.answerConsume();
    await settled();
    expect([...(channels[0]?.consuming ?? [])]).toEqual([]);
  });

  it('does not consume if it was suspended before the broker answered', async () => {
    await consumer.suspend();
    channels[0]?.answerConsume();
    await settled();
    expect([...(channels[0]?.consuming ?? [])]).toEqual([]);
    expect(consumer.isConsuming).toBe(false);
  });

  it('consumes again if the broker deletes the queue together with its answer', async () => {
    const [first] = channels;
    first?.answerConsume();
    first?.onMessage(null);
    await settled();
    expect(first?.isClosed).toBe(true);
    expect(consumer.isConsuming).toBe(false);
    while (channels.length < 2) await clock.sleep(20);
    await settled();
    channels[1]?.answerConsume();
    await settled();
    expect(consumer.isConsuming).toBe(true);
  });
});
