import { RateLimits } from '../../../src/api/http';
import { remoteNetworkOf } from '../../../src/api/http/caller';

const from = (ip: string) => ({ method: 'GET', url: '/', headers: {}, ip });

describe('RateLimits', () => {
  it('admits the configured number of requests per second with one key, and says when to retry', async () => {
    const limits = new RateLimits({ perKey: 3 });
    for (let count = 0; count < 3; count++) await limits.useKey('shop');
    await expect(limits.useKey('shop')).rejects.toMatchObject({
      problem: 'RATE_LIMITED',
      headers: { 'Retry-After': '1' },
    });
    await limits.useKey('other');
  });

  it('counts failures by address, separately from keys', async () => {
    const limits = new RateLimits({ perKey: 1, failuresPerAddress: 2 });
    await limits.fail(from('10.0.0.1'));
    await limits.fail(from('10.0.0.1'));
    await expect(limits.fail(from('10.0.0.1'))).rejects.toMatchObject({ problem: 'RATE_LIMITED' });
    await limits.fail(from('10.0.0.2'));
    await limits.useKey('shop');
  });

  it('counts forged notifications by address, separately from wrong keys', async () => {
    const limits = new RateLimits({ failuresPerAddress: 1, forgeriesPerAddress: 1 });
    await limits.forge(from('10.0.0.1'));
    await expect(limits.forge(from('10.0.0.1'))).rejects.toMatchObject({ problem: 'RATE_LIMITED' });
    await limits.fail(from('10.0.0.1'));
    await expect(limits.fail(from('10.0.0.1'))).rejects.toMatchObject({ problem: 'RATE_LIMITED' });
    await limits.forge(from('10.0.0.2'));
  });

  it('admits everything if it is off', async () => {
    const limits = new RateLimits({ perKey: 0, failuresPerAddress: 0, forgeriesPerAddress: 0 });
    for (let count = 0; count < 3_000; count++) await limits.useKey('shop');
    for (let count = 0; count < 100; count++) await limits.fail(from('10.0.0.1'));
    for (let count = 0; count < 100; count++) await limits.forge(from('10.0.0.1'));
  });

  it('reports every invalid limit', () => {
    const wanted = 'must be an integer from 0 to 1000000 a second, 0 for no limit';
    expect(() => new RateLimits({ perKey: -1, failuresPerAddress: 0.5, forgeriesPerAddress: NaN })).toThrow(
      `perKey ${wanted} (got -1); failuresPerAddress ${wanted} (got 0.5); forgeriesPerAddress ${wanted} (got NaN)`,
    );
  });
});

describe('remoteNetworkOf', () => {
  it.each([
    ['10.1.2.3', '10.1.2.3'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:ffff::9', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['10.1.2.3:50123', '10.1.2.3'],
    ['[2001:db8:1:2::9]:50123', '2001:db8:1:2::/64'],
  ])('%s is %s', (ip, network) => {
    expect(remoteNetworkOf(from(ip))).toBe(network);
  });

  it('is the address of the socket by default, and the same for all requests without an address', () => {
    const request = { method: 'GET', url: '/', headers: {} };
    expect(remoteNetworkOf({ ...request, socket: { remoteAddress: '10.0.0.9' } })).toBe('10.0.0.9');
    expect(remoteNetworkOf(request)).toBe('unknown');
  });
});
