import fc from 'fast-check';
import { BUYER_GROUPS, GROUP_NAMES } from '../../../examples/demo/buyers/buyer-group';
import { measureSlowness, stretchPlan } from '../../../examples/demo/buyers/machine-pace';
import { planOrders } from '../../../examples/demo/buyers/plan-orders';
import { type PlannedOrder } from '../../../examples/demo/buyers/planned-order';

const seeds = fc.integer({ min: 0, max: 2 ** 31 - 1 });

function finalDeadline({ windowMs, action }: PlannedOrder): number {
  return action?.type === 'move-deadline' ? action.toMs : windowMs;
}

describe('the plan of the demo', () => {
  it('is the same for the same seed', () => {
    fc.assert(
      fc.property(seeds, (seed) => expect(planOrders(seed, 60)).toEqual(planOrders(seed, 60))),
      { numRuns: 10 },
    );
  });

  it('has every group by every channel, in its share', () => {
    const { orders } = planOrders(1, 300);
    for (const group of GROUP_NAMES) {
      const members = orders.filter((order) => order.group === group);
      expect(members).toHaveLength(BUYER_GROUPS[group].share * 6);
      expect(new Set(members.map(({ channel }) => channel))).toEqual(new Set(['http', 'amqp', 'module']));
    }
  });

  it('keeps deadlines within 2 to 10 s, and has enough stock for all', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const { orders, stock } = planOrders(seed, 150);
        const wanted = new Map<string, number>();
        for (const order of orders) {
          expect(finalDeadline(order)).toBeGreaterThanOrEqual(2_000);
          expect(finalDeadline(order)).toBeLessThanOrEqual(10_000);
          for (const { sku, quantity } of order.lines) wanted.set(sku, (wanted.get(sku) ?? 0) + quantity);
        }
        for (const [sku, quantity] of wanted) expect(stock.get(sku)).toBeGreaterThanOrEqual(quantity);
      }),
      { numRuns: 20 },
    );
  });

  it('lets shops act before the deadline, and late buyers after it', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        for (const order of planOrders(seed, 150).orders) {
          if (order.action) expect(order.action.atMs).toBeLessThan(order.windowMs);
          const paysAtMs = order.payment?.paysAtMs;
          if (paysAtMs === undefined) continue;
          if (order.group === 'pays-too-late') expect(paysAtMs).toBeGreaterThan(finalDeadline(order));
          else expect(paysAtMs).toBeLessThan(finalDeadline(order));
        }
      }),
      { numRuns: 20 },
    );
  });

  it('is as it was planned on a quiet machine, and slower in every respect on a busy one', () => {
    const plan = planOrders(3, 150);
    expect(stretchPlan(plan, 1)).toEqual(plan);
    for (const [index, slow] of stretchPlan(plan, 3).orders.entries()) {
      const order = plan.orders[index];
      expect(slow.windowMs).toBe(3 * Number(order?.windowMs));
      expect(slow.placeAtMs).toBe(3 * Number(order?.placeAtMs));
      expect(slow.action?.atMs).toBe(order?.action && 3 * order.action.atMs);
      expect(slow.payment?.paysAtMs).toBe(order?.payment?.paysAtMs && 3 * order.payment.paysAtMs);
      expect(slow.lines).toEqual(order?.lines);
    }
  });

  it('takes a machine for as slow as it is, within bounds', () => {
    const slowness = measureSlowness();
    expect(slowness).toBeGreaterThanOrEqual(1);
    expect(slowness).toBeLessThanOrEqual(8);
  });
});
