import { KeptDeliveries } from '../../../src/rabbit';
import { Delivery } from '../../../src/rabbit/consumer';
import { ManualClock } from '../../support/manual-clock';
import { deliveryOn, recordingChannel } from './deliveries';

const MINUTE = 60_000;

/** Enough turns for all promises that can settle now. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 30; turn++) await Promise.resolve();
};

describe('deliveries that wait for an unavailable service', () => {
  let clock: ManualClock;
  let done: string[];
  let isThere: boolean;
  let asked: number;
  let stopping: AbortController;
  let kept: KeptDeliveries;

  beforeEach(() => {
    clock = new ManualClock();
    done = [];
    isThere = false;
    asked = 0;
    stopping = new AbortController();
    const consumer = {
      stopped: stopping.signal,
      suspend: async () => void done.push('suspended'),
      resume: async () => void done.push('resumed'),
    };
    kept = new KeptDeliveries(clock, {
      consumer,
      isThere: async () => {
        asked += 1;
        return isThere;
      },
    });
  });

  const received = (): Delivery => {
    const { channel } = recordingChannel();
    const { message } = deliveryOn(channel);
    const acknowledgedBy = { ack: () => done.push('ack'), nack: () => done.push('requeued') };
    return new Delivery(message, acknowledgedBy, () => undefined, clock.monotonic());
  };

  async function pass(ms: number, stepMs = 1_000): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      clock.advance(stepMs);
      await settled();
    }
  }

  it('are retried once it is available, and none was returned before that', async () => {
    const waiting = [kept.keep(received()), kept.keep(received())];
    await pass(19 * MINUTE);
    expect(done).toEqual(['suspended']);
    isThere = true;
    await pass(3_000);
    expect(await Promise.all(waiting)).toEqual([true, true]);
    expect(done).toEqual(['suspended', 'resumed']);
  });

  it('are returned once in an outage of ten hours, before the broker closes the channel after 30 minutes', async () => {
    const waiting = kept.keep(received());
    await pass(21 * MINUTE);
    expect(done).toEqual(['suspended', 'requeued']);
    expect(await waiting).toBe(false);
    await pass(600 * MINUTE, 10_000);
    expect(done).toEqual(['suspended', 'requeued']);
    isThere = true;
    await pass(3_000);
    expect(done).toEqual(['suspended', 'requeued', 'resumed']);
  });

  it('are returned immediately when the consumer stops, after it was canceled', async () => {
    const waiting = kept.keep(received());
    await settled();
    stopping.abort();
    await settled();
    expect(await waiting).toBe(false);
    expect(done.slice(0, 2)).toEqual(['suspended', 'requeued']);
    expect(await kept.keep(received())).toBe(false);
    expect(clock.pendingTimers).toBe(0);
  });

  it('check every two seconds at most, even if it comes and goes', async () => {
    for (let round = 0; round < 10; round++) {
      isThere = true;
      const waiting = kept.keep(received());
      await pass(2_250, 250);
      expect(await waiting).toBe(true);
    }
    expect(asked).toBeLessThanOrEqual(12);
    isThere = false;
    asked = 0;
    void kept.keep(received());
    await pass(MINUTE);
    expect(asked).toBeGreaterThanOrEqual(25);
    expect(asked).toBeLessThanOrEqual(32);
  });

  it('are forgotten once their channel has closed: the broker delivers them again', async () => {
    const delivery = received();
    const waiting = kept.keep(delivery);
    await settled();
    delivery.forget();
    isThere = true;
    await pass(1_000);
    expect(await waiting).toBe(false);
    expect(done).toEqual(['suspended', 'resumed']);
  });

  it('let the others continue if only one has a problem', async () => {
    const waiting = kept.keepAlone(received(), 5_000);
    await pass(4_000);
    expect(done).toEqual([]);
    await pass(1_000);
    expect(await waiting).toBe(true);
    expect(done).toEqual([]);
  });
});
