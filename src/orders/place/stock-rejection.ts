import { type UnfitDemand } from '../../inventory';
import { type PlaceRejection } from './new-order';

/** Pure: returns the rejection of an order that lacks stock. */
export function stockRejection({ unknownSkus, shortages }: UnfitDemand): PlaceRejection {
  return unknownSkus.length > 0 ? { code: 'UNKNOWN_SKU', skus: unknownSkus } : { code: 'OUT_OF_STOCK', shortages };
}
