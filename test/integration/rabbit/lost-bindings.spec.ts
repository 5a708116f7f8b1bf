import { Logger } from '@nestjs/common';
import { connect, type ChannelModel } from 'amqplib';
import { declareBase, takePrefix, TopologyNames } from '../../../src/rabbit';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

const names = new TopologyNames('p.v1');

describe('an exchange of events that somebody deletes', () => {
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
  const deleteEvents = async (): Promise<void> => {
    const channel = await connection.createChannel();
    await channel.deleteExchange(names.events);
    await channel.close();
  };

  it('is declared without a word on a new broker, and when it is there', async () => {
    await declare();
    await takePrefix(connection, names, 'ours');
    await declare();
    expect(warnings).toEqual([]);
  });

  it('is declared again with a warning that its bindings are lost, once', async () => {
    await deleteEvents();
    await declare();
    await declare();
    expect(warnings).toEqual([expect.stringMatching(/"p\.v1\.events" was deleted.+bind your queues to it again/)]);
  });
});
