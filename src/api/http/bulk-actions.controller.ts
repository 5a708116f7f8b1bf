import { Body, Controller, HttpCode, Post, UseFilters, UseGuards, VERSION_NEUTRAL } from '@nestjs/common';
import {
  type ActionContext,
  type BulkExtension,
  type BulkFilter,
  type BulkOptions,
  type BulkRequest,
  type BulkResult,
  Orders,
} from '../../orders';
import { bulkActionSchema, bulkExtensionSchema } from '../../orders/input';
import { InputPipe, RequestRejectedError } from '../input';
import { ApiKeyGuard, RequireScope } from './api-key.guard';
import { ByCaller } from './by-caller.decorator';
import { CallerScope } from './caller-scope.decorator';
import { type MerchantScope } from './merchant-scope';
import { ProblemFilter } from './problem.filter';

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
  const reason = 'a bulk action needs an actor; configure API keys, or call orders.bulk in your application';
  throw new RequestRejectedError('ACTOR_MISSING', reason);
}
