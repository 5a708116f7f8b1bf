import { connect } from 'amqplib';
import { probeDelayedExchange } from '../../../src/delay';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

describe('probeDelayedExchange on a broker', () => {
  let plain: TestVhost;
  let plugin: TestVhost;

  beforeAll(async () => {
    [plain, plugin] = await Promise.all([createVhost('plain'), createVhost('plugin')]);
  });
  afterAll(() => Promise.all([plain.drop(), plugin.drop()]));

  const exchangesOf = async (vhost: TestVhost): Promise<string[]> => {
    const found = await vhost.manage<{ name: string }[]>('GET', `/exchanges/${vhost.name}`);
    return found.map(({ name }) => name).filter((name) => name !== '' && !name.startsWith('amq.'));
  };

  it('finds the exchange type where it is, and leaves nothing behind', async () => {
    expect(await probeDelayedExchange(() => connect(plugin.url))).toEqual({ type: 'present' });
    expect(await exchangesOf(plugin)).toEqual([]);
  });

  it('finds out that it is not there, and leaves nothing behind', async () => {
    expect(await probeDelayedExchange(() => connect(plain.url))).toEqual({ type: 'absent' });
    expect(await exchangesOf(plain)).toEqual([]);
  });

  it('gives the same answer to many at once', async () => {
    const results = await Promise.all([1, 2, 3, 4].map(() => probeDelayedExchange(() => connect(plugin.url))));
    expect(results.map(({ type }) => type)).toEqual(['present', 'present', 'present', 'present']);
  });

  it('does not know when the user may not declare', async () => {
    const user = `probe-${plugin.name}`;
    await plugin.manage('PUT', `/users/${user}`, { password: 'secret', tags: '' });
    try {
      await plugin.manage('PUT', `/permissions/${plugin.name}/${user}`, { configure: '^$', write: '.*', read: '.*' });
      const url = new URL(plugin.url);
      url.username = user;
      url.password = 'secret';
      const result = await probeDelayedExchange(() => connect(url.href));
      expect(result).toMatchObject({ type: 'unknown', reason: expect.stringContaining('ACCESS_REFUSED') as string });
    } finally {
      await plugin.manage('DELETE', `/users/${user}`);
    }
  });

  it('does not know when the vhost, or the broker, is not there', async () => {
    const nowhere = new URL(plain.url);
    nowhere.pathname = '/no-such-vhost';
    expect(await probeDelayedExchange(() => connect(nowhere.href))).toMatchObject({ type: 'unknown' });
    expect(await probeDelayedExchange(() => connect('amqp://127.0.0.1:1'))).toMatchObject({ type: 'unknown' });
  });
});
