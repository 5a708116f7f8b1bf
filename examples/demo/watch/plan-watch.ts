import { Random } from '../../../test/support/buyers/random';
import { planOrders } from '../buyers/plan-orders';
import { type DrivenOrder, type PlannedAction, type PlannedPayment } from '../buyers/planned-order';
import { troubleOf } from './plan-trouble';

/** What happens while somebody watches. */
export interface WatchPlan {
  readonly orders: readonly DrivenOrder[];
  /** Pieces on hand at the start, by sku: enough for all. */
  readonly stock: ReadonlyMap<string, number>;
}

/** Orders that nobody pays, with deadlines over the next hour: what a shop has open when an operator comes in. */
export const BACKLOG = 500;
/** Slow enough for a busy machine to show the page meanwhile. */
const BACKLOG_EVERY_MS = 50;
/** Slow enough for the eyes. */
const PLACED_EVERY_MS = 500;
/** Deadlines of 12 to 60 s, where those of the checked run are 2 to 10 s away. */
const SLOWNESS = 6;
/** An order in trouble every 12 s, the first one after 2 s. */
const TROUBLE_EVERY = 24;
const FIRST_TROUBLE = 4;
const MINUTE_MS = 60_000;

/** Pure: the same seed and time give the same plan. */
export function planWatch(seed: number, minutes: number): WatchPlan {
  const random = new Random(seed);
  const { orders, stock } = planOrders(seed, BACKLOG + (minutes * MINUTE_MS) / PLACED_EVERY_MS);
  return {
    stock,
    orders: orders.map((order, index) =>
      index < BACKLOG ? waiting(order, index, random) : acted(order, index - BACKLOG),
    ),
  };
}

function waiting({ id, channel, lines, amount }: DrivenOrder, number: number, random: Random): DrivenOrder {
  // The sum of two dice: most deadlines are half an hour away.
  const windowMs = random.between(MINUTE_MS, 29 * MINUTE_MS) + random.between(0, 29 * MINUTE_MS);
  const placeAtMs = number * BACKLOG_EVERY_MS;
  return { ...{ channel, placeAtMs, windowMs, lines, amount }, id: renamed(id, 'waits') };
}

function acted(order: DrivenOrder, number: number): DrivenOrder {
  const placeAtMs = number * PLACED_EVERY_MS;
  if (number % TROUBLE_EVERY !== FIRST_TROUBLE) return { ...slowed(order), placeAtMs };
  const { name, ...trouble } = troubleOf(Math.floor(number / TROUBLE_EVERY), order.amount);
  return { lines: order.lines, amount: order.amount, ...trouble, placeAtMs, id: renamed(order.id, name) };
}

/** `0042-never-pays` becomes `0042-waits`. */
const renamed = (id: string, name: string): string => id.replace(/-.*/, `-${name}`);

function slowed({ windowMs, payment, action, ...order }: DrivenOrder): DrivenOrder {
  return {
    ...order,
    windowMs: windowMs * SLOWNESS,
    ...(payment && { payment: slowedPayment(payment, windowMs) }),
    ...(action && { action: slowedAction(action) }),
  };
}

/** Failures stay as long as they were, and as close to the deadline. */
function slowedPayment({ paysAtMs, faults, ...payment }: PlannedPayment, windowMs: number): PlannedPayment {
  const laterMs = windowMs * SLOWNESS - windowMs;
  return {
    ...payment,
    ...(paysAtMs !== undefined && { paysAtMs: paysAtMs * SLOWNESS }),
    faults: faults.map((fault) => (fault.fault === 'latency' ? fault : { ...fault, afterMs: fault.afterMs + laterMs })),
  };
}

function slowedAction(action: PlannedAction): PlannedAction {
  const atMs = action.atMs * SLOWNESS;
  return action.type === 'move-deadline' ? { ...action, atMs, toMs: action.toMs * SLOWNESS } : { ...action, atMs };
}
