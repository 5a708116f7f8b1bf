import { type DelayTransport } from '../../../src/delay';
import { type ChannelModel, type TopologyNames } from '../../../src/rabbit';
import { createVhost } from '../../support/rabbit-vhost';
import { DelayRig, type Handled } from './delay-rig';
import { stretched } from '../../support/machine-load';

export interface Subject {
  readonly title: string;
  readonly profile: 'plain' | 'plugin';
  readonly queueType?: 'quorum' | 'classic';
  /** Small, so that the suite exceeds it quickly. */
  readonly horizonMs: number;
  /** What happens to a wake-up whose kind has no work queue. `none` uses no broker. */
  readonly unroutable: 'parked' | 'dropped' | 'not applicable';
  transportOf(this: void, names: TopologyNames): DelayTransport;
  /** A broker without anything. Default: a virtual host of the broker with the profile. */
  readonly openBroker?: (this: void) => Promise<EmptyBroker>;
}

export interface EmptyBroker {
  /** Its URL, or what connects to it. */
  readonly address: string | (() => Promise<ChannelModel>);
  drop(): Promise<void>;
}

/**
 * On a quiet two-core broker the p99 is 35 ms. The limit is generous because the machine is shared;
 * the sweep would take 30 s.
 */
const LATE_MS = 1_500;

/** The behavior that every transport must have, together with a consumer that waits and publishes with a new delay. */
export function describeDelayTransport(subject: Subject): void {
  describe(subject.title, () => {
    let broker: EmptyBroker;
    let rig: DelayRig;

    beforeAll(async () => {
      broker = await (subject.openBroker ?? (() => openVhost(subject)))();
    });
    beforeEach(async () => {
      rig = await DelayRig.open(broker.address, subject.transportOf, subject);
    });
    afterEach(() => rig.close());
    afterAll(() => broker.drop());

    it('delivers after any delay from zero to above the horizon, never early, in time, and with its headers', async () => {
      const { horizonMs } = subject;
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      const delays = [0, 0.3, 1, 2, 19, 20, 21, 127, 128, 199, 200, 350, 799, 801, 1_003.7, horizonMs - 1, horizonMs];
      const all = [...delays, horizonMs + 1, horizonMs + 700];
      await Promise.all(all.map((delayMs) => rig.wake('order.payment', delayMs, { traceparent })));
      const handled = await rig.handles(all.length);
      expect(handled).toHaveLength(all.length);
      expectInTime(handled);
      for (const { headers } of handled) expect(headers).toMatchObject({ traceparent });
    });

    it('delivers overdue wake-ups immediately, whether by a millisecond or a year', async () => {
      await Promise.all([-1, -0.5, -1_000, -31_536_000_000].map((delayMs) => rig.wake('order.payment', delayMs)));
      const handled = await rig.handles(4);
      expect(handled.map(({ deliveries }) => deliveries > 1)).toEqual([false, false, false, false]);
    });

    it('delivers in due order, not in the order of scheduling: a short delay overtakes a long one', async () => {
      const delays = [...Array(8).keys()].map((n) => 200 + n * 150);
      const shuffled = delays.map((_, n) => delays[(n * 3) % delays.length] ?? 0);
      await Promise.all(shuffled.map((delayMs) => rig.wake('order.payment', delayMs)));
      const dues = (await rig.handles(delays.length)).map(({ dueAtMs }) => dueAtMs);
      expect(dues).toHaveLength(delays.length);
      expect(dues).toEqual([...dues].sort((a, b) => a - b));
    });

    it('separates kinds, even if the name of one is the end of another', async () => {
      const payment = await rig.wake('payment', 260);
      const orderPayment = await rig.wake('order.payment', 260);
      await rig.wake('payment', 600);
      const handled = await rig.handles(3);
      expect(handled.find(({ id }) => id === payment)?.kind).toBe('payment');
      expect(handled.find(({ id }) => id === orderPayment)?.kind).toBe('order.payment');
      expect(handled).toHaveLength(3);
    });

    it.each([NaN, Infinity, -Infinity])('rejects the delay %p', (delayMs) => {
      expect(() => rig.transport.route('order.payment', delayMs)).toThrow(/ORDER_TIMEOUT\//);
    });

    if (subject.unroutable === 'not applicable') return;

    it('is not blocked by a kind without a work queue', async () => {
      const lost = [...Array(40).keys()].map((n) => `nobody-${n}`);
      await Promise.all(lost.map((id) => rig.send(rig.transport.route('nobody', 350), id)));
      await Promise.all([350, 350, 350, 360, 390].map((delayMs) => rig.wake('order.payment', delayMs)));
      expect(await rig.handles(5)).toHaveLength(5);
      expectInTime(rig.handled);
      if (subject.unroutable !== 'parked') return;
      expect((await rig.takeParked(lost.length)).sort()).toEqual(lost.sort());
      expect(rig.returned).toEqual([]);
    });

    it('can be declared again, and by several processes at the same time', async () => {
      const rigs = await Promise.all([1, 2, 3].map(() => DelayRig.open(broker.address, subject.transportOf, subject)));
      try {
        await rig.transport.declare(rig.channel);
        const id = await rig.wake('order.payment', 120);
        const all = await Promise.race([rig, ...rigs].map((each) => each.handles(1)));
        expect(all.map((handled) => handled.id)).toEqual([id]);
      } finally {
        await Promise.all(rigs.map((each) => each.close()));
      }
    });
  });
}

async function openVhost({ profile }: Subject): Promise<EmptyBroker> {
  const vhost = await createVhost(profile);
  return { address: vhost.url, drop: () => vhost.drop() };
}

export function expectInTime(handled: readonly Handled[]): void {
  for (const { dueAtMs, handledAtMs } of handled) {
    expect(handledAtMs).toBeGreaterThanOrEqual(dueAtMs);
    expect(handledAtMs - dueAtMs).toBeLessThan(stretched(LATE_MS));
  }
}
