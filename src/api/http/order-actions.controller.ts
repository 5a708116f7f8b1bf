import {
  Body,
  Controller,
  HttpCode,
  Param,
  Post,
  Req,
  Res,
  UseFilters,
  UseGuards,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import {
  type ActionContext,
  type MarkPaidResult,
  type NewAttempt,
  type NewDeadline,
  Orders,
  type OrderView,
  type ReportedPayment,
  type ManualClose,
  type ManualRefund,
  type RefundPaymentResult,
  type BulkExtension,
  type BulkFilter,
  type BulkOptions,
  type BulkRequest,
  type BulkResult,
} from '../../orders';
import {
  fields,
  newAttemptSchema,
  newDeadlineSchema,
  reportedPaymentSchema,
  bulkActionSchema,
  bulkExtensionSchema,
} from '../../orders/input';
import {
  accepted,
  autoCloseSchema,
  cancellationSchema,
  InputPipe,
  reject,
  RequestRejectedError,
  closeSchema,
  reasonSchema,
  refundSchema,
} from '../input';
import { ApiKeyGuard, RequireScope } from './api-key.guard';
import { type ApiRequest, refuseIdempotencyKey, ByCaller, CallerScope, type MerchantScope } from './api-request';
import { OrderScopeGuard } from './order-scope.guard';
import { ProblemFilter } from './problem.filter';

const orderId = new InputPipe(fields.orderId);

/** Actions on one order. */
@Controller({ path: 'orders/:id', version: VERSION_NEUTRAL })
@UseGuards(ApiKeyGuard, OrderScopeGuard)
@UseFilters(ProblemFilter)
export class OrderActionsController {
  constructor(private readonly orders: Orders) {}

  @Post('attempts')
  @RequireScope('orders:write')
  async attempt(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(newAttemptSchema)) attempt: NewAttempt,
    @ByCaller() by: ActionContext,
    @Res({ passthrough: true }) response: { status(code: number): unknown },
  ): Promise<OrderView> {
    const { outcome, order } = accepted(id, await this.orders.registerAttempt({ ...attempt, orderId: id }, { by }));
    if (outcome === 'replayed') response.status(200);
    return order;
  }

  @Post('pay-check')
  @HttpCode(200)
  @RequireScope('orders:write')
  async check(@Param('id', orderId) id: string, @ByCaller() by: ActionContext): Promise<OrderView> {
    return accepted(id, await this.orders.checkPayment(id, { by })).order;
  }

  @Post('paid')
  @HttpCode(200)
  @RequireScope('orders:write')
  async paid(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(reportedPaymentSchema)) payment: Omit<ReportedPayment, 'orderId'>,
    @ByCaller() by: ActionContext,
  ): Promise<Exclude<MarkPaidResult, { outcome: 'unknown-order' }>> {
    const result = await this.orders.markPaid({ ...payment, orderId: id }, { by });
    if (result.outcome !== 'unknown-order') return result;
    const reason = `there is no order "${id}"; the payment is kept as an unmatched payment (event order.payment_late)`;
    throw new RequestRejectedError('ORDER_NOT_FOUND', reason);
  }

  @Post('extend')
  @HttpCode(200)
  @RequireScope('orders:write')
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
  async autoClose(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(autoCloseSchema)) { enabled }: { enabled: boolean },
    @ByCaller() by: ActionContext,
  ): Promise<OrderView> {
    return accepted(id, await this.orders.setAutoClose({ orderId: id, enabled }, { by })).order;
  }
}

/** Operator actions on one order. */
@Controller({ path: 'orders/:id', version: VERSION_NEUTRAL })
@UseGuards(ApiKeyGuard, OrderScopeGuard)
@UseFilters(ProblemFilter)
export class OrderOperatorController {
  constructor(private readonly orders: Orders) {}

  @Post('refund')
  @HttpCode(200)
  @RequireScope('admin')
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
  async close(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(closeSchema)) request: Omit<ManualClose, 'orderId'>,
    @ByCaller() by: ActionContext,
  ): Promise<OrderView> {
    return accepted(id, await this.orders.close({ ...request, orderId: id }, { by })).order;
  }

  @Post('erase')
  @HttpCode(200)
  @RequireScope('admin')
  async erase(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(reasonSchema)) { reason }: { reason: string },
    @ByCaller() by: ActionContext,
  ): Promise<OrderView> {
    return accepted(id, await this.orders.erasePersonalData({ orderId: id, reason }, { by })).order;
  }
}

/** Operator actions on all orders of a filter. A key that is limited to merchants reaches their orders only. */
@Controller({ path: 'orders/bulk/actions', version: VERSION_NEUTRAL })
@UseGuards(ApiKeyGuard)
@UseFilters(ProblemFilter)
export class BulkActionsController {
  constructor(private readonly orders: Orders) {}

  @Post('extend')
  @HttpCode(200)
  @RequireScope('admin')
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
