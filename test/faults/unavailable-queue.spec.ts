import { Logger } from '@nestjs/common';
import { connect, type ChannelModel } from 'amqplib';
import { SystemClock } from '../../src/clock';
import { RabbitClient, resolveRabbitOptions, TopologyNames } from '../../src/rabbit';
import { workQueueArguments } from '../../src/rabbit/topology';
import { until } from '../support/engine';
import { OwnBroker } from '../support/servers/own-broker';

const names = new TopologyNames('order-timeout.v1');
const HEALTHY = names.workQueue('healthy');
const SICK = names.workQueue('sick');

/**
 * A broker that is killed right after a quorum queue was declared leaves it without a leader (3.10.8: 5 of 5), which answers
 * nobody, or without its process, which ends each connection that wants to consume it.
 */
describe.each(['leader', 'process'])('a work queue without its %s', (missing) => {
  let broker: OwnBroker;
  let direct: ChannelModel;
  let client: RabbitClient;
  let said: string[];

  beforeAll(async () => {
    said = [];
    const say = (message: unknown): void => void said.push(String(message));
    Logger.overrideLogger({ log: () => undefined, warn: say, error: say });
    broker = await OwnBroker.open({ profile: 'plain' });
    await declareAndBreak();
    direct = await connect(broker.amqpUrl);
    client = new RabbitClient(resolveRabbitOptions({ urls: [broker.amqpUrl] }), new SystemClock());
  });

  afterAll(async () => {
    await client?.close();
    await direct?.close();
    await broker?.close();
    Logger.overrideLogger(false);
  });

  async function declareAndBreak(): Promise<void> {
    const connection = await connect(broker.amqpUrl);
    connection.on('error', () => undefined);
    const channel = await connection.createChannel();
    channel.on('error', () => undefined);
    await channel.assertExchange(names.parked, 'fanout', { durable: true });
    const others = [...Array(10).keys()].map((n) => names.workQueue(`other-${n}`));
    for (const queue of [HEALTHY, ...others, SICK]) {
      await channel.assertQueue(queue, { durable: true, arguments: workQueueArguments('quorum', names) });
    }
    if (missing === 'process') {
      await broker.stopQueue(SICK);
      return connection.close();
    }
    await broker.kill();
    await broker.start();
  }

  it('is told, costs the other consumers nothing, and is consumed when it serves again', async () => {
    const consume = (queue: string, taken: string[]) =>
      client.consume({
        queue,
        prefetch: 10,
        declare: async (own) =>
          void (await own.assertQueue(queue, { durable: true, arguments: workQueueArguments('quorum', names) })),
        onDelivery: (delivery) => {
          taken.push(delivery.body.toString());
          delivery.acknowledge('ack');
        },
      });
    const [fromHealthy, fromSick]: [string[], string[]] = [[], []];
    const healthy = consume(HEALTHY, fromHealthy);
    const sick = consume(SICK, fromSick);
    client.start();
    const isTold = (): boolean => said.some((line) => line.includes('QUEUE_UNAVAILABLE') && line.includes(SICK));
    await until(isTold, 25_000);
    await until(() => healthy.isConsuming);
    expect([client.isUp, healthy.isConsuming, sick.isConsuming]).toEqual([false, true, false]);

    const channel = await direct.createChannel();
    channel.sendToQueue(HEALTHY, Buffer.from('a'), { persistent: true });
    await until(() => fromHealthy.includes('a'));

    if (missing === 'process') await broker.startQueue(SICK);
    else await channel.deleteQueue(SICK);
    await until(() => client.isUp, 40_000);
    channel.sendToQueue(SICK, Buffer.from('b'), { persistent: true });
    await until(() => fromSick.includes('b'));
  });
});
