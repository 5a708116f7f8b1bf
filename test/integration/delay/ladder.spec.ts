import { Ladder } from '../../../src/delay';
import { type TopologyNames } from '../../../src/rabbit';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { describeDelayTransport, expectInTime } from './conformance';
import { DelayRig } from './delay-rig';
import { stretched } from '../../support/machine-load';

// Three levels of base 4 over 20 ms: one pass takes up to 1.26 s.
const small = { base: 4, unitMs: 20, horizonMs: 1_000 };

describeDelayTransport({
  title: 'Ladder of quorum queues',
  profile: 'plain',
  horizonMs: 1_260,
  unroutable: 'parked',
  transportOf: (names) => new Ladder(names, small),
});

describeDelayTransport({
  title: 'Ladder of classic queues',
  profile: 'plain',
  queueType: 'classic',
  horizonMs: 1_260,
  unroutable: 'parked',
  transportOf: (names) => new Ladder(names, { ...small, queueType: 'classic' }),
});

describe('Ladder on a broker', () => {
  const transportOf = (names: TopologyNames): Ladder => new Ladder(names, small);
  let vhost: TestVhost;
  let rig: DelayRig;

  beforeAll(async () => {
    vhost = await createVhost();
    rig = await DelayRig.open(vhost.url, transportOf);
  });
  afterAll(async () => {
    await rig.close();
    await vhost.drop();
  });

  it('cuts a delay above its horizon and delays the rest again, without the headers of the broker', async () => {
    await rig.wake('order.payment', 1_600);
    const [handled] = await rig.handles(1);
    expect(handled?.deliveries).toBe(2);
    // The first pass, 333 in base 4, started in this queue. The second, about 100, has another history.
    const deaths = handled?.headers['x-death'] as { queue: string }[];
    expect(deaths.length).toBeGreaterThan(0);
    expect(deaths.map(({ queue }) => queue)).not.toContain('order-timeout.v1.delay-b4-u20.2.03');
    expectInTime(rig.handled);
  });

  it('parks a message whose next queue is missing instead of blocking the queue before it', async () => {
    const rung = 'order-timeout.v1.delay-b4-u20.0.02';
    await rig.channel.deleteQueue(rung);
    const before = rig.handled.length;
    const stranded = [...Array(40).keys()].map((n) => `stranded-${n}`);
    // In base 4, 120 ms is 12 and 99 ms is 10: the same queue of level 1, then the queue that is missing.
    await Promise.all(stranded.map((id) => rig.send(rig.transport.route('order.payment', 120), id)));
    await Promise.all([1, 2, 3].map(() => rig.wake('order.payment', 99)));
    expect(await rig.handles(before + 3)).toHaveLength(before + 3);
    expect((await rig.takeParked(stranded.length)).sort()).toEqual(stranded.sort());
    expectInTime(rig.handled);
    await rig.transport.declare(rig.channel);
  });
});

describe('The default ladder', () => {
  it('is declared within seconds on an empty vhost, and declared again in less', async () => {
    const vhost = await createVhost();
    try {
      const rig = await DelayRig.open(vhost.url, (names) => new Ladder(names));
      const queues = await vhost.manage<{ name: string }[]>('GET', `/queues/${vhost.name}?columns=name`);
      expect(queues.filter(({ name }) => name.startsWith('order-timeout.v1.delay.'))).toHaveLength(147);
      const beganAt = performance.now();
      await rig.transport.declare(rig.channel);
      expect(performance.now() - beganAt).toBeLessThan(stretched(5_000));
      await rig.close();
    } finally {
      await vhost.drop();
    }
  });
});
