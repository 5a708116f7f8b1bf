import fc from 'fast-check';
import { BUYER_GROUPS, GROUP_NAMES } from '../../../examples/demo/buyers/buyer-group';
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
});
