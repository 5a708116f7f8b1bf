import { Body, Controller, HttpCode, Param, Post, UseFilters, UseGuards } from '@nestjs/common';
import { z } from 'zod';
import { accepted, InputPipe } from '../input';
import { fields } from '../../orders/input';
import { type ActionContext, Orders, type OrderView } from '../../orders';
import { ApiKeyGuard, RequireScope } from './api-key.guard';
import { ByCaller } from './by-caller.decorator';
import { OrderScopeGuard } from './order-scope.guard';
import { ProblemFilter } from './problem.filter';

const orderId = new InputPipe(fields.orderId);
const erasure = z.strictObject({ reason: fields.reason });

/** Erases personal data at the person's request. */
@Controller('orders/:id')
@UseGuards(ApiKeyGuard, OrderScopeGuard)
@UseFilters(ProblemFilter)
export class OrderErasureController {
  constructor(private readonly orders: Orders) {}

  @Post('erase')
  @HttpCode(200)
  @RequireScope('admin')
  async erase(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(erasure)) { reason }: { reason: string },
    @ByCaller() by: ActionContext,
  ): Promise<OrderView> {
    return accepted(id, await this.orders.erasePersonalData({ orderId: id, reason }, { by })).order;
  }
}
