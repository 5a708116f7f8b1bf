import { mergeLines } from './merge-lines';
import { type StockDemand } from './stock';

/** Pure: the skus that this order cannot know: those that are not there, and those of another merchant than its own. */
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
