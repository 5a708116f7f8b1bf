import { Body, Get, Param, Query } from '@nestjs/common';
import { type z } from 'zod';
import { accepted, assignmentSchema, InputPipe, reasonSchema, unmatchedPageSchema } from '../input';
import { fields } from '../../orders/input';
import { type ActionContext, type AssignUnmatchedResult, Orders, type UnmatchedPayment } from '../../orders';
import { Action, ApiController, ByCaller, RequireRole, RequireScope, UnmatchedScope } from './caller.guard';
import { CallerScope, type MerchantScope } from './caller';

const unmatchedId = new InputPipe(fields.unmatchedId);

/**
 * Operator actions on unmatched payments. A key that is limited to merchants sees the payments of their orders. It does
 * not see payments without an order, because their merchant is unknown.
 */
@ApiController('payments/unmatched')
export class UnmatchedPaymentsController {
  constructor(
    private readonly orders: Orders,
    private readonly visible: UnmatchedScope,
  ) {}

  /** Ordered by id. `after` is the id of the last entry of the previous page. */
  @Get()
  @RequireScope('admin')
  @RequireRole('read')
  list(
    @Query(new InputPipe(unmatchedPageSchema)) { limit, after }: z.output<typeof unmatchedPageSchema>,
    @CallerScope() { merchants }: MerchantScope,
  ): Promise<UnmatchedPayment[]> {
    return this.orders.unmatched.list({ limit, after, merchants });
  }

  @Action(':id/settle')
  @RequireScope('admin')
  @RequireRole('money')
  async settle(
    @Param('id', unmatchedId) id: string,
    @Body(new InputPipe(reasonSchema)) { reason }: { reason: string },
    @ByCaller() by: ActionContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<UnmatchedPayment> {
    await this.visible.assertVisible(id, scope);
    return accepted(id, await this.orders.unmatched.settle({ id, reason }, { by })).payment;
  }

  @Action(':id/reopen')
  @RequireScope('admin')
  @RequireRole('money')
  async reopen(
    @Param('id', unmatchedId) id: string,
    @Body(new InputPipe(reasonSchema)) { reason }: { reason: string },
    @ByCaller() by: ActionContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<UnmatchedPayment> {
    await this.visible.assertVisible(id, scope);
    return accepted(id, await this.orders.unmatched.reopen({ id, reason }, { by })).payment;
  }

  @Action(':id/assign')
  @RequireScope('admin')
  @RequireRole('money')
  async assign(
    @Param('id', unmatchedId) id: string,
    @Body(new InputPipe(assignmentSchema)) { orderId, reason }: z.output<typeof assignmentSchema>,
    @ByCaller() by: ActionContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<Exclude<AssignUnmatchedResult, { outcome: 'rejected' }>> {
    await this.visible.assertVisible(id, scope);
    await this.visible.assertTheirs(orderId, scope);
    const result = await this.orders.unmatched.assign({ id, orderId, reason }, { by });
    const isMissing = result.outcome === 'rejected' && result.code === 'ORDER_NOT_FOUND';
    return accepted(isMissing ? orderId : id, result);
  }
}
