import { Body, Controller, HttpCode, Param, Post, Res, UseFilters, UseGuards } from '@nestjs/common';
import { z } from 'zod';
import {
  type ActionContext,
  CancelOrder,
  CheckPayment,
  ExtendDeadline,
  MarkPaid,
  type MarkPaidResult,
  type NewAttempt,
  type NewDeadline,
  type OrderView,
  RegisterAttempt,
  type ReportedPayment,
  SetAutoClose,
} from '../../orders';
import { accepted, InputPipe, RequestRejectedError } from '../input';
import { fields, newAttemptSchema, newDeadlineSchema, reportedPaymentSchema } from '../../orders/input';
import { ApiKeyGuard, RequireScope } from './api-key.guard';
import { ByCaller } from './by-caller.decorator';
import { OrderScopeGuard } from './order-scope.guard';
import { ProblemFilter } from './problem.filter';

const orderId = new InputPipe(fields.orderId);
/** The body is optional. */
const cancellation = z.strictObject({ reason: fields.reason.optional() }).default({});
const autoClose = z.strictObject({ enabled: fields.flag });

/** Actions on one order. */
@Controller('orders/:id')
@UseGuards(ApiKeyGuard, OrderScopeGuard)
@UseFilters(ProblemFilter)
export class OrderActionsController {
  constructor(
    private readonly registerAttempt: RegisterAttempt,
    private readonly checkPayment: CheckPayment,
    private readonly markPaid: MarkPaid,
    private readonly extendDeadline: ExtendDeadline,
    private readonly cancelOrder: CancelOrder,
    private readonly setAutoClose: SetAutoClose,
  ) {}

  @Post('attempts')
  @RequireScope('orders:write')
  async attempt(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(newAttemptSchema)) attempt: NewAttempt,
    @ByCaller() by: ActionContext,
    @Res({ passthrough: true }) response: { status(code: number): unknown },
  ): Promise<OrderView> {
    const { outcome, order } = accepted(id, await this.registerAttempt.execute(id, attempt, by));
    if (outcome === 'replayed') response.status(200);
    return order;
  }

  @Post('pay-check')
  @HttpCode(200)
  @RequireScope('orders:write')
  async check(@Param('id', orderId) id: string, @ByCaller() by: ActionContext): Promise<OrderView> {
    return accepted(id, await this.checkPayment.execute(id, by)).order;
  }

  @Post('paid')
  @HttpCode(200)
  @RequireScope('orders:write')
  async paid(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(reportedPaymentSchema)) payment: Omit<ReportedPayment, 'orderId'>,
    @ByCaller() by: ActionContext,
  ): Promise<Exclude<MarkPaidResult, { outcome: 'unknown-order' }>> {
    const result = await this.markPaid.execute({ ...payment, orderId: id }, by);
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
  ): Promise<OrderView> {
    return accepted(id, await this.extendDeadline.execute({ ...deadline, orderId: id }, by)).order;
  }

  @Post('cancel')
  @HttpCode(200)
  @RequireScope('orders:write')
  async cancel(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(cancellation)) { reason }: { reason?: string | undefined },
    @ByCaller() by: ActionContext,
  ): Promise<OrderView> {
    return accepted(id, await this.cancelOrder.execute({ orderId: id, reason }, by)).order;
  }

  @Post('auto-close')
  @HttpCode(200)
  @RequireScope('orders:write')
  async autoClose(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(autoClose)) { enabled }: { enabled: boolean },
    @ByCaller() by: ActionContext,
  ): Promise<OrderView> {
    return accepted(id, await this.setAutoClose.execute({ orderId: id, enabled }, by)).order;
  }
}
