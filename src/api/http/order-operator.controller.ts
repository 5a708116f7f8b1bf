import { Body, Controller, HttpCode, Param, Post, UseFilters, UseGuards, VERSION_NEUTRAL } from '@nestjs/common';
import { accepted, closeSchema, InputPipe, reasonSchema, refundSchema } from '../input';
import { fields } from '../../orders/input';
import {
  type ActionContext,
  type ManualClose,
  type ManualRefund,
  Orders,
  type OrderView,
  type RefundPaymentResult,
} from '../../orders';
import { ApiKeyGuard, RequireScope } from './api-key.guard';
import { ByCaller } from './by-caller.decorator';
import { OrderScopeGuard } from './order-scope.guard';
import { ProblemFilter } from './problem.filter';

const orderId = new InputPipe(fields.orderId);

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
