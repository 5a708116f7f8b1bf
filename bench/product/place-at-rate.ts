import { setTimeout as sleep } from 'node:timers/promises';
import { newOrder } from './new-orders';
import { type Shop } from './open-shop';
import { seededRandom } from './seeded-random';

interface Flow {
  readonly prefix: string;
  readonly perSecond: number;
  readonly seconds: number;
  readonly shortestMs: number;
  readonly longestMs: number;
  readonly signal: AbortSignal;
}

/** Orders of one transaction: as many as a busy shop's server has at hand at the same moment. */
const TOGETHER = 10;

/** What came of it: fewer per second than wanted means that the machine could not place as many beside closing them. */
export interface Flowed {
  readonly count: number;
  readonly placedPerSecond: number;
}

/** More transactions than this are not begun at once; then the rate is what the machine gives. */
const MOST_OPEN = 50;

/** Places orders at an even rate, with deadlines evenly spread. */
export async function placeAtRate(shop: Shop, flow: Flow): Promise<Flowed> {
  const { prefix, perSecond, seconds, shortestMs, longestMs, signal } = flow;
  const random = seededRandom();
  const count = perSecond * seconds;
  const open = new Set<Promise<void>>();
  // Kept until somebody looks: nobody waits for a single transaction.
  const failures: unknown[] = [];
  const beganAt = performance.now();
  for (let first = 0; first < count; first += TOGETHER) {
    signal.throwIfAborted();
    if (failures.length > 0) break;
    const waitMs = beganAt + (first / perSecond) * 1_000 - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    const orders = Array.from({ length: TOGETHER }, (_, index) => {
      const paymentWindowMs = Math.round(shortestMs + random() * (longestMs - shortestMs));
      return { ...newOrder(prefix, first + index, { paymentWindowMs }), reminderOffsetsMs: [] };
    });
    const placing = shop
      .place(orders)
      .catch((error: unknown) => failures.push(error))
      .then(() => void open.delete(placing));
    open.add(placing);
    if (open.size >= MOST_OPEN) await Promise.race(open);
  }
  await Promise.all(open);
  if (failures.length > 0) throw failures[0];
  return { count, placedPerSecond: (count * 1_000) / (performance.now() - beganAt) };
}
