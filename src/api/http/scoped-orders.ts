import { type NewOrder } from '../../orders';
import { type MerchantScope } from './merchant-scope';

/** Maximum number of orders in the message. */
const MAX_NAMED = 20;

/**
 * Fills in the merchants of new orders by the caller's key.
 *
 * @throws HttpProblem FORBIDDEN with the orders of other merchants.
 * @throws RequestRejectedError VALIDATION_FAILED if an order must name its merchant and does not.
 */
export function scopedOrders(orders: readonly NewOrder[], scope: MerchantScope): readonly NewOrder[] {
  if (!scope.isRestricted) return orders;
  const foreign = orders.filter(({ merchantId }) => merchantId !== undefined && !scope.allows(merchantId));
  if (foreign.length > 0) {
    const ids = foreign.slice(0, MAX_NAMED).map(({ id }) => id);
    const more = foreign.length > MAX_NAMED ? ` and ${foreign.length - MAX_NAMED} more` : '';
    throw scope.forbidden(
      `nothing was placed, because these orders belong to other merchants: ${ids.join(', ')}${more}`,
    );
  }
  return orders.map((order, index) => ({
    ...order,
    merchantId: scope.merchantFor(order.merchantId, `orders.${index}.merchantId`),
  }));
}
