import { type DrivenOrder } from '../../../examples/demo/buyers/planned-order';
import { BACKLOG, planWatch } from '../../../examples/demo/watch/plan-watch';

const MINUTE_MS = 60_000;
const { orders, stock } = planWatch(7, 10);
const acted = orders.slice(BACKLOG);
const isTrouble = ({ id }: DrivenOrder): boolean => /-(pays-half|pays-when-closed|negative-amount)$/.test(id);
const smooth = acted.filter((order) => !isTrouble(order));

describe('the plan of the demo that is watched', () => {
  it('is the same for the same seed and time', () => {
    expect(planWatch(7, 10)).toEqual({ orders, stock });
  });

  it('names every order once', () => {
    expect(new Set(orders.map(({ id }) => id)).size).toBe(orders.length);
  });

  it('begins with deadlines in every ten minutes of the next hour, most of them in the middle', () => {
    const inTens = new Map<number, number>();
    for (const { windowMs } of orders.slice(0, BACKLOG)) {
      const ten = Math.floor(windowMs / (10 * MINUTE_MS));
      inTens.set(ten, (inTens.get(ten) ?? 0) + 1);
    }
    expect([...inTens.keys()].sort()).toEqual([0, 1, 2, 3, 4, 5]);
    const [first = 0, , third = 0, fourth = 0, , last = 0] = [0, 1, 2, 3, 4, 5].map((ten) => inTens.get(ten));
    expect(Math.min(third, fourth)).toBeGreaterThan(2 * Math.max(first, last));
  });

  it('has two orders placed per second until its end, with deadlines that a person can wait for', () => {
    expect(acted).toHaveLength(1_200);
    expect(acted.map(({ placeAtMs }) => placeAtMs)).toEqual(acted.map((_, index) => index * 500));
    for (const { windowMs } of smooth) expect(windowMs).toBeGreaterThanOrEqual(12_000);
    for (const { windowMs } of smooth) expect(windowMs).toBeLessThanOrEqual(60_000);
  });

  it('lets each kind of trouble happen within half a minute, and again and again', () => {
    const early = acted.filter((order) => isTrouble(order) && order.placeAtMs <= 30_000);
    expect(early.map(({ id }) => id.slice(5))).toEqual(['pays-half', 'pays-when-closed', 'negative-amount']);
    expect(acted.filter(isTrouble)).toHaveLength(50);
  });

  it('has a provider fail only around the deadline', () => {
    const failing = smooth.filter(({ payment }) => payment?.faults.some(({ fault }) => fault !== 'latency'));
    expect(failing.length).toBeGreaterThan(50);
    for (const { windowMs, payment } of failing) {
      expect(payment?.faults).toEqual([expect.objectContaining({ afterMs: windowMs - 500 })]);
    }
  });

  it('has enough stock for all', () => {
    const wanted = new Map<string, number>();
    for (const { sku, quantity } of orders.flatMap(({ lines }) => lines)) {
      wanted.set(sku, (wanted.get(sku) ?? 0) + quantity);
    }
    for (const [sku, quantity] of wanted) expect(stock.get(sku)).toBeGreaterThanOrEqual(quantity);
  });
});
