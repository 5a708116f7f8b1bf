import { type StockLine } from './stock';

/** Adds up lines with the same SKU, because an order has one reservation per SKU. */
export function mergeLines(lines: readonly StockLine[]): StockLine[] {
  const total = new Map<string, number>();
  for (const { sku, quantity } of lines) total.set(sku, (total.get(sku) ?? 0) + quantity);
  return [...total].map(([sku, quantity]) => ({ sku, quantity }));
}
