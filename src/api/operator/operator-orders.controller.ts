import { Body, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { fields, operatorPageSchema, bulkActionSchema, bulkExtensionSchema } from '../../orders/input';
import {
  type PersonalData,
  RevealPersonalData,
  type ManualClose,
  type ManualRefund,
  type NewDeadline,
  Orders,
  type RefundPaymentResult,
  type BulkExtension,
  type BulkFilter,
  type BulkRequest,
  type BulkResult,
} from '../../orders';
import {
  accepted,
  InputPipe,
  notFound,
  reasonSchema,
  closeSchema,
  operatorAutoCloseSchema,
  operatorExtensionSchema,
  refundSchema,
} from '../input';
import { CallerScope, type MerchantScope } from '../http';
import { ByOperator, type OperatorContext, OperatorController, RequireRole } from './operator.guard';
import {
  type OrderPageView,
  ReadOrderPage,
  type OrderSearch,
  type OrderSearchPage,
  SearchOrders,
  type PlainOrder,
  plainResult,
  withoutMetadata,
} from './order-page';

const orderId = new InputPipe(fields.orderId);

/** Finds and shows orders. */
@OperatorController('api/orders')
export class OperatorOrdersController {
  constructor(
    private readonly search: SearchOrders,
    private readonly pages: ReadOrderPage,
    private readonly revealing: RevealPersonalData,
  ) {}

  @Get()
  @RequireRole('read')
  list(
    @Query(new InputPipe(operatorPageSchema)) search: OrderSearch,
    @CallerScope() scope: MerchantScope,
  ): Promise<OrderSearchPage> {
    return this.search.execute(search, scope);
  }

  @Get(':id')
  @RequireRole('read')
  async read(@Param('id', orderId) id: string): Promise<OrderPageView> {
    const page = await this.pages.execute(id);
    if (!page) throw notFound(id);
    return page;
  }

  @Post(':id/reveal')
  @HttpCode(200)
  @RequireRole('reveal')
  async reveal(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(reasonSchema)) { reason }: { reason: string },
    @ByOperator() by: OperatorContext,
  ): Promise<PersonalData> {
    const { metadata, evidence } = accepted(id, await this.revealing.execute({ orderId: id, reason }, { by }));
    return { metadata, evidence };
  }
}

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

/** Actions on all orders of a filter. Each call handles a part of them. */
@OperatorController('api/bulk')
export class OperatorBulkController {
  constructor(private readonly orders: Orders) {}

  @Post('extend')
  @HttpCode(200)
  @RequireRole('operate')
  extend(
    @Body(new InputPipe(bulkExtensionSchema)) request: BulkExtension,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<BulkResult> {
    return this.orders.bulk.extend({ ...request, filter: within(scope, request.filter) }, { by });
  }

  @Post('cancel')
  @HttpCode(200)
  @RequireRole('operate')
  cancel(
    @Body(new InputPipe(bulkActionSchema)) request: BulkRequest,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<BulkResult> {
    return this.orders.bulk.cancel({ ...request, filter: within(scope, request.filter) }, { by });
  }

  @Post('close')
  @HttpCode(200)
  @RequireRole('operate')
  close(
    @Body(new InputPipe(bulkActionSchema)) request: BulkRequest,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<BulkResult> {
    return this.orders.bulk.close({ ...request, filter: within(scope, request.filter) }, { by });
  }
}

function within(scope: MerchantScope, filter: BulkFilter): BulkFilter {
  return { ...filter, merchants: scope.visible(filter.merchantId, 'filter.merchantId') };
}
