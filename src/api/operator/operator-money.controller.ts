import { Body, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { type z } from 'zod';
import { type AssignUnmatchedResult, Orders, type RefundPaymentResult, type UnmatchedPayment } from '../../orders';
import { fields } from '../../orders/input';
import {
  accepted,
  assignmentSchema,
  InputPipe,
  reasonSchema,
  refundPageSchema,
  reject,
  RequestRejectedError,
  unmatchedPageSchema,
} from '../input';
import { CallerScope, type MerchantScope, UnmatchedScope } from '../http';
import { ByOperator, type OperatorContext, OperatorController, RequireRole } from './operator.guard';
import { ListRefunds, type RefundView, type PlainOrder, plainResult } from './order-page';

const paymentId = new InputPipe(fields.unmatchedId);

/** An unmatched payment without what its provider said. */
export type UnmatchedView = Omit<UnmatchedPayment, 'evidence'>;

type Done<T extends { outcome: string }> = Omit<Exclude<T, { outcome: 'rejected' }>, 'order'> & { order: PlainOrder };

/** Unmatched payments, and refunds. A key that is limited to merchants sees those of their orders. */
@OperatorController('api')
export class OperatorMoneyController {
  constructor(
    private readonly orders: Orders,
    private readonly visible: UnmatchedScope,
    private readonly listing: ListRefunds,
  ) {}

  @Get('refunds')
  @RequireRole('read')
  refunds(
    @Query(new InputPipe(refundPageSchema)) { state, limit }: z.output<typeof refundPageSchema>,
    @CallerScope() scope: MerchantScope,
  ): Promise<RefundView[]> {
    return this.listing.execute(state, limit, scope);
  }

  /** Oldest first. `after` is the id of the last entry of the previous page. */
  @Get('unmatched')
  @RequireRole('read')
  async list(
    @Query(new InputPipe(unmatchedPageSchema)) { limit, after }: z.output<typeof unmatchedPageSchema>,
    @CallerScope() { merchants }: MerchantScope,
  ): Promise<UnmatchedView[]> {
    return (await this.orders.unmatched.list({ limit, after, merchants })).map(withoutEvidence);
  }

  @Post('unmatched/:payment/settle')
  @HttpCode(200)
  @RequireRole('money')
  async settle(
    @Param('payment', paymentId) id: string,
    @Body(new InputPipe(reasonSchema)) { reason }: { reason: string },
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<UnmatchedView> {
    await this.visible.assertVisible(id, scope);
    return withoutEvidence(accepted(id, await this.orders.unmatched.settle({ id, reason }, { by })).payment);
  }

  @Post('unmatched/:payment/reopen')
  @HttpCode(200)
  @RequireRole('money')
  async reopen(
    @Param('payment', paymentId) id: string,
    @Body(new InputPipe(reasonSchema)) { reason }: { reason: string },
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<UnmatchedView> {
    await this.visible.assertVisible(id, scope);
    return withoutEvidence(accepted(id, await this.orders.unmatched.reopen({ id, reason }, { by })).payment);
  }

  @Post('unmatched/:payment/assign')
  @HttpCode(200)
  @RequireRole('money')
  async assign(
    @Param('payment', paymentId) id: string,
    @Body(new InputPipe(assignmentSchema)) { orderId, reason }: z.output<typeof assignmentSchema>,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<Done<AssignUnmatchedResult>> {
    await this.visible.assertVisible(id, scope);
    await this.visible.assertTheirs(orderId, scope);
    const result = await this.orders.unmatched.assign({ id, orderId, reason }, { by });
    const isMissing = result.outcome === 'rejected' && result.code === 'ORDER_NOT_FOUND';
    return plainResult(accepted(isMissing ? orderId : id, result));
  }

  /** Refunds the payment on the order that it belongs to. */
  @Post('unmatched/:payment/refund')
  @HttpCode(200)
  @RequireRole('money')
  async refund(
    @Param('payment', paymentId) id: string,
    @Body(new InputPipe(reasonSchema)) { reason }: { reason: string },
    @ByOperator() by: OperatorContext,
    @CallerScope() { merchants }: MerchantScope,
  ): Promise<Done<RefundPaymentResult>> {
    const payment = await this.orders.unmatched.get(id, { merchants });
    if (!payment) throw reject(id, { code: 'UNMATCHED_PAYMENT_NOT_FOUND' });
    const { orderId, provider, reference, merchantAccount } = payment;
    if (orderId === null) throw withoutOrder();
    const named = { orderId, provider, reference, merchantAccount: merchantAccount ?? undefined };
    return plainResult(accepted(orderId, await this.orders.refund({ ...named, reason }, { by })));
  }
}

function withoutEvidence(payment: UnmatchedPayment): UnmatchedView {
  return Object.fromEntries(
    Object.entries(payment).filter(([name]) => name !== 'evidence'),
  ) as unknown as UnmatchedView;
}

function withoutOrder(): RequestRejectedError {
  const reason = 'the payment belongs to no order; assign it first, or refund it at the provider and settle it';
  return new RequestRejectedError('PAYMENT_NOT_FOUND', reason);
}
