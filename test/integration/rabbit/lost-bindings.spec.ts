import { Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { type Channel, connect, type ChannelModel } from 'amqplib';
import { SystemClock } from '../../../src/clock';
import {
  declareBase,
  declareWorkQueue,
  RabbitClient,
  resolveRabbitOptions,
  takePrefix,
  TopologyNames,
} from '../../../src/rabbit';
import { declareCommandQueue } from '../../../src/rabbit/declare-topology';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { ManualClock } from '../../support/manual-clock';
import { until } from '../../support/until';

const names = new TopologyNames('p.v1');

describe('a transport that the broker refuses', () => {
  it('is logged with what the broker says of it', async () => {
    const vhost = await createVhost();
    const errors: string[] = [];
    const ignore = (): void => undefined;
    Logger.overrideLogger({ log: ignore, warn: ignore, error: (message: string) => void errors.push(message) });
    const client = new RabbitClient(
      resolveRabbitOptions({ urls: [vhost.url], queueType: 'classic' }),
      new SystemClock(),
    );
    client.declareBeforeWakeUps(async (channel) => {
      await channel.assertExchange('delay', 'fanout');
      // As the ladder does: later requests are sent before the first is answered.
      await Promise.all([channel.assertExchange('delay', 'topic'), channel.assertQueue('waiting')]);
    });
    client.start();
    await until(() => errors.length > 0);
    await client.close();
    Logger.overrideLogger(false);
    await vhost.drop();
    expect(errors[0]).toContain("inequivalent arg 'type' for exchange 'delay'");
  });
});

describe('an exchange that somebody deletes', () => {
  let vhost: TestVhost;
  let connection: ChannelModel;
  const warnings: string[] = [];

  beforeAll(async () => {
    const ignore = (): void => undefined;
    Logger.overrideLogger({ log: ignore, error: ignore, warn: (message: string) => void warnings.push(message) });
    vhost = await createVhost();
    connection = await connect(vhost.url);
  });

  afterAll(async () => {
    Logger.overrideLogger(false);
    await connection.close();
    await vhost.drop();
  });

  beforeEach(() => void (warnings.length = 0));

  const declare = async (): Promise<void> => {
    const channel = await connection.createChannel();
    await declareBase(connection, channel, names, { queueType: 'classic' });
    await channel.close();
  };
  const deleteExchange = async (name: string): Promise<void> => {
    const channel = await connection.createChannel();
    await channel.deleteExchange(name);
    await channel.close();
  };

  it('is declared without a word on a new broker, and when it is there', async () => {
    await declare();
    await takePrefix(connection, names, 'ours');
    await declare();
    expect(warnings).toEqual([]);
  });

  it('is declared again with a warning that its bindings are lost, once', async () => {
    await deleteExchange(names.events);
    await declare();
    await declare();
    expect(warnings).toEqual([expect.stringMatching(/"p\.v1\.events" was deleted.+bind your queues to it again/)]);
  });

  it('leaves the command queue bound if that of commands is deleted, so that no command is dropped', async () => {
    const channel = await connection.createConfirmChannel();
    await declareCommandQueue(channel, names, { queueType: 'classic' });
    await deleteExchange(names.commands);
    await declare();
    channel.publish(names.commands, 'order.placed', Buffer.from('{}'));
    await channel.waitForConfirms();
    expect(await channel.checkQueue(names.commands)).toMatchObject({ messageCount: 1 });
    expect(warnings).toEqual([expect.stringMatching(/"p\.v1\.commands" was deleted.+what was sent meanwhile is lost/)]);
  });

  it('leaves the queues of consumers bound if that of wake-ups is deleted', async () => {
    const options = resolveRabbitOptions({ urls: [vhost.url], prefix: names.prefix, queueType: 'classic' });
    const client = new RabbitClient(options, new SystemClock());
    const declareQueue = async (channel: Channel) =>
      void (await declareWorkQueue(channel, names, { queueType: 'classic' }, 'k'));
    const delivered = new Promise<string>((resolve) => {
      client.consume({
        ...{ queue: names.workQueue('k'), prefetch: 1, declare: declareQueue },
        onDelivery: (delivery) => {
          delivery.acknowledge('ack');
          resolve(delivery.body.toString());
        },
      });
    });
    client.start();
    await until(() => client.isUp);
    await deleteExchange(names.work);
    // The broker closes the channel, and the publisher declares everything again.
    const publication = { exchange: names.work, routingKey: 'k', messageId: randomUUID(), type: 'test' };
    await client.publisher.publish([{ ...publication, body: Buffer.from('lost') }]).catch(() => undefined);
    await until(() => client.publisher.isReady);
    await client.publisher.publish([{ ...publication, body: Buffer.from('found') }]);
    expect(await delivered).toBe('found');
    await client.close();
  });

  it.each(['commands', 'work'] as const)(
    'leaves nothing unbound if that of %s is deleted together with the mark of who owns the prefix',
    async (which) => {
      const clock = new ManualClock();
      const options = resolveRabbitOptions({ urls: [vhost.url], prefix: names.prefix, queueType: 'classic' });
      const client = new RabbitClient(options, clock);
      const declareQueue = async (channel: Channel) =>
        void (await (which === 'work'
          ? declareWorkQueue(channel, names, { queueType: 'classic' }, 'owned')
          : declareCommandQueue(channel, names, { queueType: 'classic' })));
      const queue = which === 'work' ? names.workQueue('owned') : names.commands;
      const taken: string[] = [];
      client.consume({
        ...{ queue, prefetch: 1, declare: declareQueue },
        onDelivery: (delivery) => {
          taken.push(delivery.body.toString());
          delivery.acknowledge('ack');
        },
      });
      client.start();
      await until(() => client.isUp);
      for (const name of [names[which], names.owner]) await deleteExchange(name);
      clock.advance(60_000);
      await until(() => warnings.length > 0);
      const channel = await connection.createConfirmChannel();
      const key = which === 'work' ? 'owned' : 'order.placed';
      await until(async () => {
        channel.publish(names[which], key, Buffer.from('found'));
        await channel.waitForConfirms();
        return taken.includes('found');
      });
      await channel.close();
      await client.close();
    },
  );

  it('is declared again within a minute, also if only others publish to it', async () => {
    const clock = new ManualClock();
    const options = resolveRabbitOptions({ urls: [vhost.url], prefix: names.prefix, queueType: 'classic' });
    const client = new RabbitClient(options, clock);
    const declareQueue = async (channel: Channel) =>
      void (await declareCommandQueue(channel, names, { queueType: 'classic' }));
    client.consume({ queue: names.commands, prefetch: 1, declare: declareQueue, onDelivery: () => undefined });
    client.start();
    await until(() => client.isUp);
    await deleteExchange(names.commands);
    clock.advance(60_000);
    await until(() => warnings.length > 0);
    expect(warnings).toEqual([expect.stringMatching(/"p\.v1\.commands" was deleted/)]);
    await connection.createChannel().then((channel) => channel.checkExchange(names.commands));
    await client.close();
  });
});
