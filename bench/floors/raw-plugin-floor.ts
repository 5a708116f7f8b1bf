import { setTimeout as sleep } from 'node:timers/promises';
import { type ChannelModel, type ConfirmChannel, connect } from 'amqplib';
import { type Contestant, type Ring, type Sample } from '../contestant';
import { seededRandom } from '../product/seeded-random';
import { spreadOfLateness } from '../report/spread';

const EXCHANGE = 'bench.delayed';
const QUEUE = 'bench.due';
const PREFETCH = 1_000;

/** Messages with x-delay at the same rate and with the same deadlines, and nothing else: no table, no work. */
export function rawPluginFloor(flow: { readonly shortestMs: number; readonly longestMs: number }): Contestant {
  return {
    name: 'x-delayed-message alone, amqplib',
    role: 'floor',
    broker: 'plugin',
    run: async (ring) => {
      const broker = await connect(ring.amqpUrl);
      try {
        return await measure(ring, broker, flow);
      } finally {
        await broker.close();
      }
    },
  };
}

async function measure(
  ring: Ring,
  broker: ChannelModel,
  flow: { readonly shortestMs: number; readonly longestMs: number },
): Promise<Sample> {
  const perSecond = ring.isShort ? 200 : 500;
  const count = perSecond * (ring.isShort ? 5 : 60);
  const channel = await broker.createConfirmChannel();
  const delayed = { durable: true, arguments: { 'x-delayed-type': 'direct' } };
  await channel.assertExchange(EXCHANGE, 'x-delayed-message', delayed);
  await channel.assertQueue(QUEUE, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
  await channel.bindQueue(QUEUE, EXCHANGE, '');
  const lateness = receive(await broker.createChannel(), count);
  await send(channel, count, perSecond, flow);
  return spreadOfLateness(await lateness);
}

type Channel = Awaited<ReturnType<ChannelModel['createChannel']>>;

async function receive(channel: Channel, count: number): Promise<number[]> {
  await channel.prefetch(PREFETCH);
  const lateness: number[] = [];
  return new Promise((resolve, reject) => {
    const take = (message: Parameters<Parameters<Channel['consume']>[1]>[0]): void => {
      if (!message) return reject(new Error('the queue was deleted'));
      lateness.push(Date.now() - Number(message.content.toString()));
      channel.ack(message);
      if (lateness.length === count) resolve(lateness);
    };
    channel.consume(QUEUE, take).catch(reject);
  });
}

async function send(
  channel: ConfirmChannel,
  count: number,
  perSecond: number,
  { shortestMs, longestMs }: { readonly shortestMs: number; readonly longestMs: number },
): Promise<void> {
  const random = seededRandom();
  const beganAt = performance.now();
  for (let n = 0; n < count; n += 1) {
    const waitMs = beganAt + (n / perSecond) * 1_000 - performance.now();
    if (waitMs > 1) await sleep(waitMs);
    const delayMs = Math.round(shortestMs + random() * (longestMs - shortestMs));
    const body = Buffer.from(String(Date.now() + delayMs));
    channel.publish(EXCHANGE, '', body, { persistent: true, headers: { 'x-delay': { '!': 'int64', value: delayMs } } });
  }
  await channel.waitForConfirms();
}
