import { mergeLines } from './merge-lines';
import { type StockDemand } from './stock';

/** Pure: the SKUs that are unknown to this order: those that do not exist, and those of another merchant. */
export function skusUnknownTo(
  { lines, merchantId }: StockDemand,
  available: ReadonlyMap<string, number>,
  owners: ReadonlyMap<string, string> = new Map(),
): string[] {
  const isOther = (owner: string | undefined): boolean =>
    owner !== undefined && merchantId !== undefined && owner !== merchantId;
  const skus = mergeLines(lines).map(({ sku }) => sku);
  return skus.filter((sku) => !available.has(sku) || isOther(owners.get(sku)));
}
