import { type Channel, type ChannelModel, connect } from 'amqplib';
import { DelayedExchange, Ladder, probeTransport, type ProbeResult } from '../../../src/delay';
import { declareBase, resolveRabbitOptions, TopologyNames } from '../../../src/rabbit';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

const names = new TopologyNames('order-timeout.v1');
const plugin = new DelayedExchange(names);
const ladder = new Ladder(names, { base: 8, horizonMs: 60_000, queueType: 'classic' });
const options = resolveRabbitOptions({ urls: [], queueType: 'classic' });

describe('probeTransport on a broker', () => {
  let plain: TestVhost;
  let withPlugin: TestVhost;

  beforeAll(async () => {
    [plain, withPlugin] = await Promise.all([createVhost('plain'), createVhost('plugin')]);
  });
  afterAll(() => Promise.all([plain.drop(), withPlugin.drop()]));

  const namesOf = async (what: 'exchanges' | 'queues', vhost: TestVhost): Promise<string[]> => {
    const found = await vhost.manage<{ name: string }[]>('GET', `/${what}/${vhost.name}`);
    return found.map(({ name }) => name).filter((name) => name !== '' && !name.startsWith('amq.'));
  };
  const probePlugin = (url: string): Promise<ProbeResult> => probeTransport(() => connect(url), plugin);

  it('receives a message through the plugin, and leaves only its exchange', async () => {
    expect(await probePlugin(withPlugin.url)).toEqual({ type: 'works' });
    expect(await namesOf('exchanges', withPlugin)).toEqual(['order-timeout.v1.delayed']);
    expect(await namesOf('queues', withPlugin)).toEqual([]);
  });

  it('detects that the plugin is missing, and leaves nothing behind', async () => {
    expect(await probePlugin(plain.url)).toEqual({ type: 'absent' });
    expect(await namesOf('exchanges', plain)).toEqual([]);
    expect(await namesOf('queues', plain)).toEqual([]);
  });

  it('gives the same result to many callers at the same time', async () => {
    const results = await Promise.all([1, 2, 3, 4].map(() => probePlugin(withPlugin.url)));
    expect(results.map(({ type }) => type)).toEqual(['works', 'works', 'works', 'works']);
  });

  it('receives a message through the ladder, and detects a ladder that does not deliver', async () => {
    const vhost = await createVhost();
    try {
      const prepare = async (channel: Channel, connection: ChannelModel): Promise<void> => {
        await declareBase(connection, channel, names, options);
        await ladder.declare(channel);
      };
      expect(await probeTransport(() => connect(vhost.url), ladder, { prepare })).toEqual({ type: 'works' });
      const lost = await probeTransport(() => connect(vhost.url), ladder, {
        timeoutMs: 500,
        prepare: async (channel, connection) => {
          await prepare(channel, connection);
          // Messages that wait for one unit are parked from now on.
          await channel.deleteQueue(`${ladder.address}.0.01`);
        },
      });
      expect(lost).toMatchObject({ type: 'unusable' });
    } finally {
      await vhost.drop();
    }
  });

  it('returns unknown if the user may not declare', async () => {
    const user = `probe-${withPlugin.name}`;
    await withPlugin.manage('PUT', `/users/${user}`, { password: 'secret', tags: '' });
    try {
      await withPlugin.manage('PUT', `/permissions/${withPlugin.name}/${user}`, {
        configure: '^$',
        write: '.*',
        read: '.*',
      });
      const url = new URL(withPlugin.url);
      url.username = user;
      url.password = 'secret';
      const result = await probePlugin(url.href);
      expect(result).toMatchObject({ type: 'unknown', reason: expect.stringContaining('ACCESS_REFUSED') as string });
    } finally {
      await withPlugin.manage('DELETE', `/users/${user}`);
    }
  });

  it('returns unknown if the vhost or the broker is missing', async () => {
    const nowhere = new URL(plain.url);
    nowhere.pathname = '/no-such-vhost';
    expect(await probePlugin(nowhere.href)).toMatchObject({ type: 'unknown' });
    expect(await probePlugin('amqp://127.0.0.1:1')).toMatchObject({ type: 'unknown' });
  });
});
