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
} from '../../orders';
import { accepted, autoCloseSchema, cancellationSchema, InputPipe, RequestRejectedError } from '../input';
import { fields, newAttemptSchema, newDeadlineSchema, reportedPaymentSchema } from '../../orders/input';
import { ApiKeyGuard, RequireScope } from './api-key.guard';
import { type ApiRequest, refuseIdempotencyKey } from './api-request';
import { ByCaller } from './by-caller.decorator';
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
