import { Body, Controller, HttpCode, Param, Post, UseFilters, UseGuards } from '@nestjs/common';
import { z } from 'zod';
import { accepted, InputPipe } from '../input';
import { fields } from '../../orders/input';
import {
  type ActionContext,
  CloseOrder,
  type ManualClose,
  type ManualRefund,
  type OrderView,
  RefundPayment,
  type RefundPaymentResult,
  ReviveOrder,
} from '../../orders';
import { ApiKeyGuard, RequireScope } from './api-key.guard';
import { ByCaller } from './by-caller.decorator';
import { OrderScopeGuard } from './order-scope.guard';
import { ProblemFilter } from './problem.filter';

const { reason, provider, reference, merchantAccount, flag } = fields;
const orderId = new InputPipe(fields.orderId);
const refund = z.strictObject({ provider, reference, merchantAccount: merchantAccount.optional(), reason });
const revival = z.strictObject({ reason });
const close = z.strictObject({ reason, attemptsAreClosed: flag.optional() });

/** Operator actions on one order. */
@Controller('orders/:id')
@UseGuards(ApiKeyGuard, OrderScopeGuard)
@UseFilters(ProblemFilter)
export class OrderOperatorController {
  constructor(
    private readonly refundPayment: RefundPayment,
    private readonly reviveOrder: ReviveOrder,
    private readonly closeOrder: CloseOrder,
  ) {}

  @Post('refund')
  @HttpCode(200)
  @RequireScope('admin')
  async refund(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(refund)) request: Omit<ManualRefund, 'orderId'>,
    @ByCaller() by: ActionContext,
  ): Promise<Exclude<RefundPaymentResult, { outcome: 'rejected' }>> {
    return accepted(id, await this.refundPayment.execute({ ...request, orderId: id }, by));
  }

  @Post('revive')
  @HttpCode(200)
  @RequireScope('admin')
  async revive(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(revival)) { reason }: { reason: string },
    @ByCaller() by: ActionContext,
  ): Promise<OrderView> {
    return accepted(id, await this.reviveOrder.execute({ orderId: id, reason }, by)).order;
  }

  @Post('close')
  @HttpCode(200)
  @RequireScope('admin')
  async close(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(close)) request: Omit<ManualClose, 'orderId'>,
    @ByCaller() by: ActionContext,
  ): Promise<OrderView> {
    return accepted(id, await this.closeOrder.execute({ ...request, orderId: id }, by)).order;
  }
}
