import { Body, HttpCode, Post } from '@nestjs/common';
import { type BulkExtension, type BulkFilter, type BulkRequest, type BulkResult, Orders } from '../../orders';
import { bulkActionSchema, bulkExtensionSchema } from '../../orders/input';
import { InputPipe } from '../input';
import { CallerScope, type MerchantScope } from '../http';
import { ByOperator, type OperatorContext } from './by-operator.decorator';
import { OperatorController } from './operator-controller.decorator';
import { RequireRole } from './operator.guard';

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
