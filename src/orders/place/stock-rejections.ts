import { type ReserveOutcome, selectUnfit, type StockDemand } from '../../inventory';
import { type PlaceRejection } from './new-order';
import { stockRejection } from './stock-rejection';

/** Pure: returns the rejections of the orders that lack stock. If it is insufficient for all, earlier orders are served first. */
export function stockRejections(
  demands: readonly StockDemand[],
  { available, owners }: Extract<ReserveOutcome, { type: 'refused' }>,
): Map<string, PlaceRejection> {
  const unfit = selectUnfit(demands, available, owners);
  if (unfit.length === 0) throw new Error('stock was rejected although every order fits');
  return new Map(unfit.map((demand) => [demand.orderId, stockRejection(demand)]));
}
