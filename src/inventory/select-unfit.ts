import { mergeLines } from './merge-lines';
import { skusUnknownTo } from './skus-unknown-to';
import { type StockDemand, type StockShortage } from './stock';

/** An order for which the remaining stock does not suffice. */
export interface UnfitDemand {
  readonly orderId: string;
  readonly shortages: readonly StockShortage[];
  readonly unknownSkus: readonly string[];
}

/**
 * Pure: serves demands from the available stock, first come, first served, and returns those that do not fit. A demand
 * that does not fit takes nothing, so a smaller one after it may still fit.
 *
 * @param owners merchants of the SKUs that belong to one.
 */
export function selectUnfit(
  demands: readonly StockDemand[],
  available: ReadonlyMap<string, number>,
  owners?: ReadonlyMap<string, string>,
): UnfitDemand[] {
  const left = new Map(available);
  const unfit: UnfitDemand[] = [];
  for (const demand of demands) {
    const { orderId, lines } = demand;
    const wanted = mergeLines(lines);
    const unknownSkus = skusUnknownTo(demand, left, owners);
    const shortages = wanted
      .map(({ sku, quantity }) => ({ sku, wanted: quantity, available: left.get(sku) ?? Infinity }))
      .filter((line) => line.available < line.wanted);
    if (unknownSkus.length + shortages.length > 0) unfit.push({ orderId, shortages, unknownSkus });
    else for (const { sku, quantity } of wanted) left.set(sku, (left.get(sku) ?? 0) - quantity);
  }
  return unfit;
}
