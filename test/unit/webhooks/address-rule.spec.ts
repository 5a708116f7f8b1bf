import { mayReach } from '../../../src/webhooks/webhook-client';

describe('a webhook', () => {
  it.each(['93.184.216.34', '2606:2800:220:1::1', '172.32.0.1', '100.128.0.1'])('may go to %s', (address) => {
    expect(mayReach(address, false)).toBe(true);
  });

  it.each(['127.0.0.1', '10.1.2.3', '172.16.0.1', '192.168.1.1', '100.64.0.1', '::1', 'fd00::1', '::ffff:10.0.0.1'])(
    'may go to %s only if the endpoint allows private networks',
    (address) => {
      expect([mayReach(address, false), mayReach(address, true)]).toEqual([false, true]);
    },
  );

  it.each([
    '169.254.169.254',
    '::ffff:169.254.169.254',
    'fe80::1',
    '0.0.0.0',
    '::',
    '224.0.0.1',
    'ff02::1',
    '64:ff9b::a9fe:a9fe',
    'name',
    'fe80::1%eth0',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
    '64:ff9b:1::a00:1',
    'fec0::1',
    '2001::7f00:1',
    '2001:db8::1',
    '3fff::1',
    '100::1',
    '5f00::1',
    '2002:7f00:1::',
  ])('never goes to %s', (address) => {
    expect([mayReach(address, false), mayReach(address, true)]).toEqual([false, false]);
  });

  it.each([
    ['Alibaba Cloud', '100.100.100.200'],
    ['Alibaba Cloud, mapped into IPv6', '::ffff:100.100.100.200'],
    ['Azure', '168.63.129.16'],
    ['AWS', 'fd00:ec2::254'],
    ['Google Cloud', 'fd20:ce::254'],
    ['Oracle Cloud', 'fd00:c1::a9fe:a9fe'],
    ['Scaleway', 'fd00:42::42'],
  ])('never goes to the metadata service of %s', (_, address) => {
    expect([mayReach(address, false), mayReach(address, true)]).toEqual([false, false]);
  });
});
