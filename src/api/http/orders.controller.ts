import { Body, Get, Param, Post, Query, Req, Res } from '@nestjs/common';
import {
  accepted,
  InputPipe,
  newOrdersSchema,
  notFound,
  parseInput,
  reasonSchema,
  reject,
  RequestRejectedError,
} from '../input';
import { fields, newAttemptSchema, newOrderSchema, orderPageSchema, reportedPaymentSchema } from '../../orders/input';
import {
  type ActionContext,
  type CheckedOrder,
  type HistoryEntry,
  type MarkPaidResult,
  type NewAttempt,
  type OrderList,
  type OrderPage,
  Orders,
  type OrderView,
  PlaceOrders,
  type PlaceResult,
  type ReportedPayment,
} from '../../orders';
import { Action, ApiController, ByCaller, RequireScope, OrderScopeGuard, scopedOrders } from './caller.guard';
import { type ApiRequest, CallerScope, type MerchantScope } from './caller';

/** The part of the response that is used. It is the same in Express and Fastify. */
interface StatusSetter {
  status(code: number): unknown;
}

/** What became of one order of a bulk request. */
export interface Placement {
  readonly id: string;
  readonly outcome: PlaceResult['outcome'];
  readonly code?: string;
  readonly detail?: string;
}

const orderId = new InputPipe(fields.orderId);

/** What only keys may do with orders: place, read, and pay them, and erase their personal data. */
@ApiController('orders', OrderScopeGuard)
export class OrdersController {
  constructor(
    private readonly orders: Orders,
    private readonly placing: PlaceOrders,
  ) {}

  @Post()
  @RequireScope('orders:write')
  async place(
    @Body(new InputPipe(newOrderSchema)) order: CheckedOrder,
    @ByCaller() by: ActionContext,
    @CallerScope() scope: MerchantScope,
    @Req() { headers }: ApiRequest,
    @Res({ passthrough: true }) response: StatusSetter,
  ): Promise<OrderView> {
    const key = headers['idempotency-key'];
    const idempotencyKey = parseInput(fields.idempotencyKey.optional(), key, 'Idempotency-Key');
    const merchantId = scope.merchantFor(order.merchantId);
    const result = await this.placing.placeChecked({ ...order, merchantId, idempotencyKey }, by);
    const placed = accepted(order.id, result);
    if (placed.outcome === 'replayed') response.status(200);
    return placed.order;
  }

  @Action('bulk')
  @RequireScope('orders:write')
  async placeMany(
    @Body(new InputPipe(newOrdersSchema)) { orders }: { orders: CheckedOrder[] },
    @ByCaller() by: ActionContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ results: Placement[] }> {
    return { results: (await this.placing.executeChecked(scopedOrders(orders, scope), { by })).map(toPlacement) };
  }

  @Get()
  @RequireScope('orders:read')
  list(
    @Query(new InputPipe(orderPageSchema)) page: OrderPage,
    @CallerScope() scope: MerchantScope,
  ): Promise<OrderList> {
    return this.orders.list({ ...page, merchants: scope.visible(page.merchantId) });
  }

  @Get(':id')
  @RequireScope('orders:read')
  async read(@Param('id', orderId) id: string): Promise<OrderView> {
    const order = await this.orders.get(id);
    if (!order) throw notFound(id);
    return order;
  }

  @Get(':id/history')
  @RequireScope('orders:read')
  async history(@Param('id', orderId) id: string): Promise<HistoryEntry[]> {
    const entries = await this.orders.history(id);
    if (entries.length === 0) throw notFound(id);
    return entries;
  }

  @Post(':id/attempts')
  @RequireScope('orders:write')
  async attempt(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(newAttemptSchema)) attempt: NewAttempt,
    @ByCaller() by: ActionContext,
    @Res({ passthrough: true }) response: StatusSetter,
  ): Promise<OrderView> {
    const { outcome, order } = accepted(id, await this.orders.registerAttempt({ ...attempt, orderId: id }, { by }));
    if (outcome === 'replayed') response.status(200);
    return order;
  }

  @Action(':id/paid')
  @RequireScope('orders:write')
  async paid(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(reportedPaymentSchema)) payment: Omit<ReportedPayment, 'orderId'>,
    @ByCaller() by: ActionContext,
  ): Promise<Exclude<MarkPaidResult, { outcome: 'unknown-order' }>> {
    const result = await this.orders.markPaid({ ...payment, orderId: id }, { by });
    if (result.outcome !== 'unknown-order') return result;
    const reason = `there is no order "${id}"; the payment is, or was, kept as an unmatched payment (event order.payment_late)`;
    throw new RequestRejectedError('ORDER_NOT_FOUND', reason);
  }

  @Action(':id/erase')
  @RequireScope('admin')
  async erase(
    @Param('id', orderId) id: string,
    @Body(new InputPipe(reasonSchema)) { reason }: { reason: string },
    @ByCaller() by: ActionContext,
  ): Promise<OrderView> {
    return accepted(id, await this.orders.erasePersonalData({ orderId: id, reason }, { by })).order;
  }
}

function toPlacement(result: PlaceResult): Placement {
  const { id, outcome } = result;
  if (result.outcome !== 'rejected') return { id, outcome };
  return { id, outcome, code: result.code, detail: reject(id, result).reason };
}
