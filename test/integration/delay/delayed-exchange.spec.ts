import { DelayedExchange } from '../../../src/delay';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { describeDelayTransport } from './conformance';
import { DelayRig } from './delay-rig';

describeDelayTransport({
  title: 'DelayedExchange',
  profile: 'plugin',
  horizonMs: 1_260,
  // The exchange forgets what it cannot route; an alternate exchange would deliver twice (plugin issue 36).
  unroutable: 'dropped',
  transportOf: (names) => new DelayedExchange(names),
});

describe('DelayedExchange beyond its limit', () => {
  let vhost: TestVhost;
  let rig: DelayRig;

  beforeAll(async () => {
    vhost = await createVhost('plugin');
    rig = await DelayRig.open(vhost.url, (names) => new DelayedExchange(names));
  });
  afterAll(async () => {
    await rig.close();
    await vhost.drop();
  });

  it('lets a hundred days wait, where the plain number would be delivered at once', async () => {
    await rig.wake('order.payment', 100 * 86_400_000);
    const short = await rig.wake('order.payment', 300);
    expect((await rig.handles(1)).map(({ id }) => id)).toEqual([short]);
    expect(rig.deliveryCount).toBe(1);
  });
});
