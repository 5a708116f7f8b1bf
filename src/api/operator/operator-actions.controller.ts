import { Body, HttpCode, Param, Post } from '@nestjs/common';
import { type ManualClose, type ManualRefund, type NewDeadline, Orders, type RefundPaymentResult } from '../../orders';
import { fields } from '../../orders/input';
import {
  accepted,
  closeSchema,
  InputPipe,
  operatorAutoCloseSchema,
  operatorExtensionSchema,
  reasonSchema,
  refundSchema,
} from '../input';
import { ByOperator, type OperatorContext } from './by-operator.decorator';
import { OperatorController } from './operator-controller.decorator';
import { RequireRole } from './operator.guard';
import { type PlainOrder, plainResult, withoutMetadata } from './without-metadata';

const orderId = new InputPipe(fields.orderId);

interface Because {
  readonly reason: string;
}

/** Actions on one order. */
@OperatorController('api/orders/:id')
export class OperatorActionsController {
  constructor(private readonly orders: Orders) {}

  @Post('extend')
  @HttpCode(200)
  @RequireRole('operate')
  async extend(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(operatorExtensionSchema)) deadline: Omit<NewDeadline, 'orderId'>,
    @ByOperator() by: OperatorContext,
  ): Promise<PlainOrder> {
    return withoutMetadata(accepted(id, await this.orders.extendDeadline({ ...deadline, orderId: id }, { by })).order);
  }

  @Post('auto-close')
  @HttpCode(200)
  @RequireRole('operate')
  async autoClose(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(operatorAutoCloseSchema)) change: Because & { enabled: boolean },
    @ByOperator() by: OperatorContext,
  ): Promise<PlainOrder> {
    return withoutMetadata(accepted(id, await this.orders.setAutoClose({ ...change, orderId: id }, { by })).order);
  }

  @Post('cancel')
  @HttpCode(200)
  @RequireRole('operate')
  async cancel(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(reasonSchema)) { reason }: Because,
    @ByOperator() by: OperatorContext,
  ): Promise<PlainOrder> {
    return withoutMetadata(accepted(id, await this.orders.cancel({ orderId: id, reason }, { by })).order);
  }

  @Post('close')
  @HttpCode(200)
  @RequireRole('operate')
  async close(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(closeSchema)) request: Omit<ManualClose, 'orderId'>,
    @ByOperator() by: OperatorContext,
  ): Promise<PlainOrder> {
    return withoutMetadata(accepted(id, await this.orders.close({ ...request, orderId: id }, { by })).order);
  }

  @Post('pay-check')
  @HttpCode(200)
  @RequireRole('operate')
  async check(@Param('id', orderId) id: string, @ByOperator() by: OperatorContext): Promise<PlainOrder> {
    return withoutMetadata(accepted(id, await this.orders.checkPayment(id, { by })).order);
  }

  @Post('revive')
  @HttpCode(200)
  @RequireRole('money')
  async revive(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(reasonSchema)) { reason }: Because,
    @ByOperator() by: OperatorContext,
  ): Promise<PlainOrder> {
    return withoutMetadata(accepted(id, await this.orders.revive({ orderId: id, reason }, { by })).order);
  }

  @Post('refund')
  @HttpCode(200)
  @RequireRole('money')
  async refund(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(refundSchema)) request: Omit<ManualRefund, 'orderId'>,
    @ByOperator() by: OperatorContext,
  ): Promise<{ outcome: Exclude<RefundPaymentResult['outcome'], 'rejected'>; order: PlainOrder }> {
    return plainResult(accepted(id, await this.orders.refund({ ...request, orderId: id }, { by })));
  }
}
