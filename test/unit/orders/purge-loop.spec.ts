import { Logger } from '@nestjs/common';
import { Purge, PurgeLoop, resolveRetention } from '../../../src/orders/retention/purge';
import { type PurgeStep } from '../../../src/orders/retention/purge-orders';
import { ManualClock } from '../../support/manual-clock';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Lets every promise settle that can. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

function setup({ isOn = true, pages = 1, pageMs = 0 } = {}) {
  const clock = new ManualClock();
  const walks: string[] = [];
  const step: PurgeStep = {
    kind: 'orders',
    beginning: ['0'],
    countPage: async () => ({ purged: 0 }),
    purgePage: async ([after = '']) => {
      walks.push(after);
      clock.jump(pageMs);
      const next = Number(after) + 1;
      return { purged: 2, ...(next < pages ? { next: [String(next)] } : {}) };
    },
  };
  const purge = new Purge([step], clock);
  const retention = resolveRetention({ intervalMs: HOUR_MS });
  return {
    clock,
    walks,
    purge,
    loop: new PurgeLoop(purge, retention, { consume: isOn, isDrivenByTests: false }, clock),
  };
}

describe('PurgeLoop', () => {
  beforeEach(() => {
    jest.spyOn(Logger.prototype, 'log').mockImplementation(() => undefined);
  });
  afterEach(() => jest.restoreAllMocks());

  it('starts a minute after the process, and again one interval after the end of a walk', async () => {
    const { clock, loop, walks, purge } = setup();
    loop.onApplicationBootstrap();
    await settled();
    clock.advance(MINUTE_MS - 1);
    await settled();
    expect(walks).toEqual([]);
    clock.advance(1);
    await settled();
    expect(walks).toEqual(['0']);
    clock.advance(HOUR_MS);
    await settled();
    expect(walks).toEqual(['0', '0']);
    expect(purge.totals).toEqual({ orders: 4, idempotencyKeys: 0, settledMoney: 0 });
    await loop.beforeApplicationShutdown();
    expect(clock.pendingTimers).toBe(0);
  });

  it('pauses between the runs of a long walk, and continues where it stopped', async () => {
    const { clock, loop, walks } = setup({ pages: 5, pageMs: 600 });
    loop.onApplicationBootstrap();
    await settled();
    clock.advance(MINUTE_MS);
    await settled();
    expect(walks).toEqual(['0', '1']);
    clock.advance(1_000);
    await settled();
    expect(walks).toEqual(['0', '1', '2', '3']);
    await loop.beforeApplicationShutdown();
  });

  it('does not run in a process that only schedules', async () => {
    const { clock, loop, walks } = setup({ isOn: false });
    loop.onApplicationBootstrap();
    await settled();
    clock.advance(DAY_MS);
    await settled();
    expect(walks).toEqual([]);
    await loop.beforeApplicationShutdown();
  });
});

describe('retention', () => {
  it('keeps orders and money forever, and idempotency keys for 30 days, by default', () => {
    expect(resolveRetention()).toEqual({
      finishedOrdersMs: 0,
      idempotencyKeysMs: 30 * DAY_MS,
      settledMoneyMs: 0,
      intervalMs: HOUR_MS,
    });
  });

  it('is validated, and every invalid time is named', () => {
    const bad = { finishedOrdersMs: 60_000, idempotencyKeysMs: -1, settledMoneyMs: NaN, intervalMs: 0 };
    for (const name of Object.keys(bad)) expect(() => resolveRetention(bad)).toThrow(name);
  });
});
