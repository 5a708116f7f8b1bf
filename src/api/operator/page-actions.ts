import {
  applyDecorators,
  Body,
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  Param,
  UseFilters,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { map, type Observable } from 'rxjs';
import { z } from 'zod';
import { type ActionContext, type OrderView, withoutPersonalData } from '../../orders';
import { fields } from '../../orders/input';
import {
  Action,
  type ApiRequest,
  BulkActionsController,
  ByCaller,
  CallerGuard,
  OrderActionsController,
  OrderScopeGuard,
  PageController,
  ProblemFilter,
  RequireRole,
  UnmatchedPaymentsController,
} from '../http';
import { accepted, InputPipe, operatorAutoCloseSchema, parseInput } from '../input';

/** A controller that only the page has, under `operator` or `operator/path`. */
export function OperatorController(path = ''): ClassDecorator {
  return applyDecorators(PageController(path), UseGuards(CallerGuard, OrderScopeGuard), UseFilters(ProblemFilter));
}

/** A controller of the HTTP API, with its guards, at the address of the page: a session is admitted instead of a key. */
function PageActions(path: string): ClassDecorator {
  return applyDecorators(PageController(`api/${path}`), UseInterceptors(PageActionInterceptor));
}

/** Whoever acts on the page gives a reason, and gets no personal data. */
@Injectable()
class PageActionInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { method, body } = context.switchToHttp().getRequest<ApiRequest & { readonly body?: unknown }>();
    const changesSomething = method === 'POST' && context.getHandler() !== OrderActionsController.prototype.check;
    if (changesSomething) parseInput(reasonGiven, body);
    return next.handle().pipe(map(withoutPersonalData));
  }
}

const reasonGiven = z.looseObject({ reason: fields.reason });

@PageActions('orders/:id')
export class PageOrderActionsController extends OrderActionsController {
  /** Shops give no reason. */
  @Action('auto-close')
  @RequireRole('operate')
  override async autoClose(
    @Param('id', new InputPipe(fields.orderId)) id: string,
    @Body(new InputPipe(operatorAutoCloseSchema)) change: { enabled: boolean; reason: string },
    @ByCaller() by: ActionContext,
  ): Promise<OrderView> {
    return accepted(id, await this.orders.setAutoClose({ ...change, orderId: id }, { by })).order;
  }
}

@PageActions('orders/bulk/actions')
export class PageBulkActionsController extends BulkActionsController {}

@PageActions('payments/unmatched')
export class PageUnmatchedPaymentsController extends UnmatchedPaymentsController {}
