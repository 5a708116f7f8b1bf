import { type DemoPlan } from './plan-orders';
import { type PlannedFault, type PlannedOrder } from './planned-order';

const MEASURED_MS = 300;
/** Faster than this is a quiet machine; a slower one than the last would make the demo endless. */
const QUIET = 1.3;
const SLOWEST = 8;

/**
 * How many times longer than on a quiet machine a computation takes now, because others compute too: 1 to 8. Blocks for
 * 0.3 s. The load average would still tell of the set-up that has just ended.
 */
export function measureSlowness(): number {
  const from = performance.now();
  const before = process.cpuUsage();
  while (performance.now() - from < MEASURED_MS);
  const { user, system } = process.cpuUsage(before);
  const slowness = (performance.now() - from) / Math.max((user + system) / 1_000, 1);
  return slowness < QUIET ? 1 : Math.min(Math.round(slowness * 10) / 10, SLOWEST);
}

/** Pure: the same orders and buyers, with everything `slowness` times later and longer. */
export function stretchPlan({ orders, stock }: DemoPlan, slowness: number): DemoPlan {
  return { stock, orders: orders.map((order) => stretchOrder(order, (ms) => Math.round(ms * slowness))) };
}

function stretchOrder(order: PlannedOrder, longer: (ms: number) => number): PlannedOrder {
  const { payment, action } = order;
  return {
    ...order,
    placeAtMs: longer(order.placeAtMs),
    windowMs: longer(order.windowMs),
    ...(payment && {
      payment: {
        ...payment,
        ...(payment.paysAtMs !== undefined && { paysAtMs: longer(payment.paysAtMs) }),
        ...(payment.notifyDelayMs !== undefined && { notifyDelayMs: longer(payment.notifyDelayMs) }),
        faults: payment.faults.map((fault) => stretchFault(fault, longer)),
      },
    }),
    ...(action && {
      action: {
        ...action,
        atMs: longer(action.atMs),
        ...(action.type === 'move-deadline' && { toMs: longer(action.toMs) }),
      },
    }),
  };
}

/** What a slow provider takes for an answer stays, because the service's patience with it does. */
function stretchFault(fault: PlannedFault, longer: (ms: number) => number): PlannedFault {
  if (fault.fault === 'latency') return fault;
  return { ...fault, afterMs: longer(fault.afterMs), forMs: longer(fault.forMs) };
}
