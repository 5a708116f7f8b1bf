import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { notFound } from '../input';
import { LIMITS, OrderMerchants } from '../../orders';
import { type ApiRequest } from './api-request';
import { MerchantScope } from './merchant-scope';

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
