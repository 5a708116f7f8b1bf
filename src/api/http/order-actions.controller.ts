import { Body, Controller, HttpCode, Param, Post, Req, UseFilters, UseGuards, VERSION_NEUTRAL } from '@nestjs/common';
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
import { fields, newDeadlineSchema, bulkActionSchema, bulkExtensionSchema } from '../../orders/input';
import {
  accepted,
  autoCloseSchema,
  cancellationSchema,
  InputPipe,
  reject,
  closeSchema,
  reasonSchema,
  refundSchema,
} from '../input';
import { ByCaller, CallerGuard, RequireRole, RequireScope } from './caller.guard';
import { type ApiRequest, refuseIdempotencyKey, CallerScope, type MerchantScope } from './api-request';
import { OrderScopeGuard } from './order-scope.guard';
import { ProblemFilter } from './problem.filter';

const orderId = new InputPipe(fields.orderId);

/** Actions on one order, of shops and operators. */
@Controller({ path: 'orders/:id', version: VERSION_NEUTRAL })
@UseGuards(CallerGuard, OrderScopeGuard)
@UseFilters(ProblemFilter)
export class OrderActionsController {
  constructor(protected readonly orders: Orders) {}

  @Post('pay-check')
  @HttpCode(200)
  @RequireScope('orders:write')
  @RequireRole('operate')
  async check(@Param('id', orderId) id: string, @ByCaller() by: ActionContext): Promise<OrderView> {
    return accepted(id, await this.orders.checkPayment(id, { by })).order;
  }

  @Post('extend')
  @HttpCode(200)
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

  @Post('cancel')
  @HttpCode(200)
  @RequireScope('orders:write')
  @RequireRole('operate')
  async cancel(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(cancellationSchema)) { reason }: { reason?: string | undefined },
    @ByCaller() by: ActionContext,
  ): Promise<OrderView> {
    return accepted(id, await this.orders.cancel({ orderId: id, reason }, { by })).order;
  }

  @Post('auto-close')
  @HttpCode(200)
  @RequireScope('orders:write')
  @RequireRole('operate')
  async autoClose(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(autoCloseSchema)) { enabled }: { enabled: boolean },
    @ByCaller() by: ActionContext,
  ): Promise<OrderView> {
    return accepted(id, await this.orders.setAutoClose({ orderId: id, enabled }, { by })).order;
  }

  @Post('refund')
  @HttpCode(200)
  @RequireScope('admin')
  @RequireRole('money')
  async refund(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(refundSchema)) request: Omit<ManualRefund, 'orderId'>,
    @ByCaller() by: ActionContext,
  ): Promise<Exclude<RefundPaymentResult, { outcome: 'rejected' }>> {
    return accepted(id, await this.orders.refund({ ...request, orderId: id }, { by }));
  }

  @Post('revive')
  @HttpCode(200)
  @RequireScope('admin')
  @RequireRole('money')
  async revive(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(reasonSchema)) { reason }: { reason: string },
    @ByCaller() by: ActionContext,
  ): Promise<OrderView> {
    return accepted(id, await this.orders.revive({ orderId: id, reason }, { by })).order;
  }

  @Post('close')
  @HttpCode(200)
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
@Controller({ path: 'orders/bulk/actions', version: VERSION_NEUTRAL })
@UseGuards(CallerGuard)
@UseFilters(ProblemFilter)
export class BulkActionsController {
  constructor(private readonly orders: Orders) {}

  @Post('extend')
  @HttpCode(200)
  @RequireScope('admin')
  @RequireRole('operate')
  extend(
    @Body(new InputPipe(bulkExtensionSchema)) request: BulkExtension,
    @ByCaller() by: ActionContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<BulkResult> {
    return this.orders.bulk.extend({ ...request, filter: within(scope, request.filter) }, named(by));
  }

  @Post('cancel')
  @HttpCode(200)
  @RequireScope('admin')
  @RequireRole('operate')
  cancel(
    @Body(new InputPipe(bulkActionSchema)) request: BulkRequest,
    @ByCaller() by: ActionContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<BulkResult> {
    return this.orders.bulk.cancel({ ...request, filter: within(scope, request.filter) }, named(by));
  }

  @Post('close')
  @HttpCode(200)
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
