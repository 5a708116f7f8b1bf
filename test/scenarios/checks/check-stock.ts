import { type OrderFacts } from './order-facts';
import { type Violation } from './violation';

interface StockLevel {
  readonly sku: string;
  readonly onHand: number;
  readonly reserved: number;
}

/** The counters say what the paid orders have taken, and nothing is held any more. */
export function checkStock(
  levels: readonly StockLevel[],
  initial: (sku: string) => number,
  orders: readonly OrderFacts[],
): Violation[] {
  const sold = new Map<string, number>();
  for (const { order, stored } of orders) {
    if (stored?.status !== 'PAID') continue;
    for (const { sku, quantity } of order.lines) sold.set(sku, (sold.get(sku) ?? 0) + quantity);
  }
  return levels.flatMap(({ sku, onHand, reserved }): Violation[] => {
    const expected = initial(sku) - (sold.get(sku) ?? 0);
    if (onHand === expected && reserved === 0) return [];
    const says = `${sku}: ${onHand} on hand, ${reserved} reserved, instead of ${expected} and 0`;
    return [{ kind: 'stock-wrong', says }];
  });
}
