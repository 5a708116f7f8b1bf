import { type StockLine } from './stock';

/** Adds up lines of one sku; one order holds one reservation per sku. */
export function mergeLines(lines: readonly StockLine[]): StockLine[] {
  const total = new Map<string, number>();
  for (const { sku, quantity } of lines) total.set(sku, (total.get(sku) ?? 0) + quantity);
  return [...total].map(([sku, quantity]) => ({ sku, quantity }));
}
