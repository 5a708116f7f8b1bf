import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { LIMITS, OrderMerchants, Orders, type NewOrder } from '../../orders';
import { notFound, reject } from '../input';
import { type ApiRequest, MerchantScope } from './api-request';

/**
 * Runs after ApiKeyGuard, on routes with an order's `:id`. For a key that is limited to merchants, orders of other
 * merchants do not exist. Other keys cost no query.
 */
@Injectable()
export class OrderScopeGuard implements CanActivate {
  constructor(private readonly orders: OrderMerchants) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { params, orderTimeoutScope: scope = MerchantScope.EVERYBODY } = context
      .switchToHttp()
      .getRequest<ApiRequest>();
    const id = params?.['id'];
    // The pipe of the parameter rejects an invalid id.
    if (!scope.isRestricted || typeof id !== 'string' || !LIMITS.id.test(id)) return true;
    const merchantId = await this.orders.of(id);
    if (merchantId !== undefined && scope.allows(merchantId)) return true;
    throw notFound(id);
  }
}

/**
 * Hides unmatched payments and orders of other merchants. Checked outside the action's transaction, because the order that a
 * payment names and its merchant never change. Callers of all merchants cost no query.
 */
@Injectable()
export class UnmatchedScope {
  constructor(
    private readonly orders: Orders,
    private readonly merchants: OrderMerchants,
  ) {}

  /** @throws RequestRejectedError UNMATCHED_PAYMENT_NOT_FOUND */
  async assertVisible(id: string, { isRestricted, merchants }: MerchantScope): Promise<void> {
    if (!isRestricted || (await this.orders.unmatched.get(id, { merchants }))) return;
    throw reject(id, { code: 'UNMATCHED_PAYMENT_NOT_FOUND' });
  }

  /** @throws RequestRejectedError ORDER_NOT_FOUND */
  async assertTheirs(orderId: string, scope: MerchantScope): Promise<void> {
    if (!scope.isRestricted) return;
    const merchantId = await this.merchants.of(orderId);
    if (merchantId === undefined || !scope.allows(merchantId)) throw notFound(orderId);
  }
}

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
