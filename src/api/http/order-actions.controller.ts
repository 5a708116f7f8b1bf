import { Body, Param, Req } from '@nestjs/common';
import {
  type ActionContext,
  type NewDeadline,
  Orders,
  type OrderView,
  type ManualClose,
  type ManualRefund,
  type RefundPaymentResult,
  type BulkExtension,
  type BulkFilter,
  type BulkOptions,
  type BulkRequest,
  type BulkResult,
} from '../../orders';
import { fields, newDeadlineSchema, bulkActionSchema, bulkExtensionSchema, refundSchema } from '../../orders/input';
import { accepted, autoCloseSchema, cancellationSchema, InputPipe, reject, closeSchema, reasonSchema } from '../input';
import { Action, ApiController, ByCaller, RequireRole, RequireScope, OrderScopeGuard } from './caller.guard';
import { type ApiRequest, refuseIdempotencyKey, CallerScope, type MerchantScope } from './caller';

const orderId = new InputPipe(fields.orderId);

/** Actions on one order, of shops and operators. */
@ApiController('orders/:id', OrderScopeGuard)
export class OrderActionsController {
  constructor(protected readonly orders: Orders) {}

  @Action('pay-check')
  @RequireScope('orders:write')
  @RequireRole('operate')
  async check(@Param('id', orderId) id: string, @ByCaller() by: ActionContext): Promise<OrderView> {
    return accepted(id, await this.orders.checkPayment(id, { by })).order;
  }

  @Action('extend')
  @RequireScope('orders:write')
  @RequireRole('operate')
  async extend(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(newDeadlineSchema)) deadline: Omit<NewDeadline, 'orderId'>,
    @ByCaller() by: ActionContext,
    @Req() request: ApiRequest,
  ): Promise<OrderView> {
    if (deadline.byMs !== undefined) refuseIdempotencyKey(request, 'send expiresAt instead of byMs');
    return accepted(id, await this.orders.extendDeadline({ ...deadline, orderId: id }, { by })).order;
  }

  @Action('cancel')
  @RequireScope('orders:write')
  @RequireRole('operate')
  async cancel(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(cancellationSchema)) { reason }: { reason?: string | undefined },
    @ByCaller() by: ActionContext,
  ): Promise<OrderView> {
    return accepted(id, await this.orders.cancel({ orderId: id, reason }, { by })).order;
  }

  @Action('auto-close')
  @RequireScope('orders:write')
  @RequireRole('operate')
  async autoClose(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(autoCloseSchema)) { enabled }: { enabled: boolean },
    @ByCaller() by: ActionContext,
  ): Promise<OrderView> {
    return accepted(id, await this.orders.setAutoClose({ orderId: id, enabled }, { by })).order;
  }

  @Action('refund')
  @RequireScope('admin')
  @RequireRole('money')
  async refund(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(refundSchema)) request: Omit<ManualRefund, 'orderId'>,
    @ByCaller() by: ActionContext,
  ): Promise<Exclude<RefundPaymentResult, { outcome: 'rejected' }>> {
    return accepted(id, await this.orders.refund({ ...request, orderId: id }, { by }));
  }

  @Action('revive')
  @RequireScope('admin')
  @RequireRole('money')
  async revive(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(reasonSchema)) { reason }: { reason: string },
    @ByCaller() by: ActionContext,
  ): Promise<OrderView> {
    return accepted(id, await this.orders.revive({ orderId: id, reason }, { by })).order;
  }

  @Action('close')
  @RequireScope('admin')
  @RequireRole('operate')
  async close(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(closeSchema)) request: Omit<ManualClose, 'orderId'>,
    @ByCaller() by: ActionContext,
  ): Promise<OrderView> {
    return accepted(id, await this.orders.close({ ...request, orderId: id }, { by })).order;
  }
}

/** Operator actions on all orders of a filter. A key that is limited to merchants reaches their orders only. */
@ApiController('orders/bulk/actions')
export class BulkActionsController {
  constructor(private readonly orders: Orders) {}

  @Action('extend')
  @RequireScope('admin')
  @RequireRole('operate')
  extend(
    @Body(new InputPipe(bulkExtensionSchema)) request: BulkExtension,
    @ByCaller() by: ActionContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<BulkResult> {
    return this.orders.bulk.extend({ ...request, filter: within(scope, request.filter) }, named(by));
  }

  @Action('cancel')
  @RequireScope('admin')
  @RequireRole('operate')
  cancel(
    @Body(new InputPipe(bulkActionSchema)) request: BulkRequest,
    @ByCaller() by: ActionContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<BulkResult> {
    return this.orders.bulk.cancel({ ...request, filter: within(scope, request.filter) }, named(by));
  }

  @Action('close')
  @RequireScope('admin')
  @RequireRole('operate')
  close(
    @Body(new InputPipe(bulkActionSchema)) request: BulkRequest,
    @ByCaller() by: ActionContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<BulkResult> {
    return this.orders.bulk.close({ ...request, filter: within(scope, request.filter) }, named(by));
  }
}

function within(scope: MerchantScope, filter: BulkFilter): BulkFilter {
  return { ...filter, merchants: scope.visible(filter.merchantId, 'filter.merchantId') };
}

/** Without an API key, only the host knows who acts. */
function named({ actor, traceparent }: ActionContext): BulkOptions {
  if (actor !== undefined) return { by: { actor, traceparent } };
  throw reject('', { code: 'ACTOR_MISSING' });
}
