import { Injectable } from '@nestjs/common';
import { notFound, rejectOperator } from '../input';
import { OrderMerchants, Orders } from '../../orders';
import { type MerchantScope } from './merchant-scope';

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
    throw rejectOperator(id, { outcome: 'rejected', code: 'UNMATCHED_PAYMENT_NOT_FOUND' });
  }

  /** @throws RequestRejectedError ORDER_NOT_FOUND */
  async assertTheirs(orderId: string, scope: MerchantScope): Promise<void> {
    if (!scope.isRestricted) return;
    const merchantId = await this.merchants.of(orderId);
    if (merchantId === undefined || !scope.allows(merchantId)) throw notFound(orderId);
  }
}
