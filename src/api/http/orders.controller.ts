import { Body, Controller, Get, HttpCode, Param, Post, Req, Res, UseFilters, UseGuards } from '@nestjs/common';
import { accepted, InputPipe, newOrdersSchema, notFound, parseInput, reject } from '../input';
import { fields, newOrderSchema } from '../../orders/input';
import {
  type ActionContext,
  type HistoryEntry,
  type NewOrder,
  type OrderView,
  PlaceOrders,
  type PlaceResult,
  ReadHistory,
  ReadOrder,
} from '../../orders';
import { ApiKeyGuard, RequireScope } from './api-key.guard';
import { type ApiRequest } from './api-request';
import { ByCaller } from './by-caller.decorator';
import { CallerScope } from './caller-scope.decorator';
import { type MerchantScope } from './merchant-scope';
import { OrderScopeGuard } from './order-scope.guard';
import { ProblemFilter } from './problem.filter';
import { scopedOrders } from './scoped-orders';

/** The part of the response that is used. It is the same in Express and Fastify. */
interface StatusSetter {
  status(code: number): unknown;
}

interface BulkResult {
  readonly id: string;
  readonly outcome: PlaceResult['outcome'];
  readonly code?: string;
  readonly detail?: string;
}

/** Places and reads orders. */
@Controller('orders')
@UseGuards(ApiKeyGuard, OrderScopeGuard)
@UseFilters(ProblemFilter)
export class OrdersController {
  constructor(
    private readonly placeOrders: PlaceOrders,
    private readonly readOrder: ReadOrder,
    private readonly readHistory: ReadHistory,
  ) {}

  @Post()
  @RequireScope('orders:write')
  async place(
    @Body(new InputPipe(newOrderSchema)) order: NewOrder,
    @ByCaller() by: ActionContext,
    @CallerScope() scope: MerchantScope,
    @Req() { headers }: ApiRequest,
    @Res({ passthrough: true }) response: StatusSetter,
  ): Promise<OrderView> {
    const key = headers['idempotency-key'];
    const idempotencyKey = parseInput(fields.idempotencyKey.optional(), key, 'Idempotency-Key');
    const merchantId = scope.merchantFor(order.merchantId);
    const [result] = await this.placeOrders.execute([{ ...order, merchantId, idempotencyKey }], by);
    if (!result) throw new Error('no result for one order');
    const placed = accepted(order.id, result);
    if (placed.outcome === 'replayed') response.status(200);
    return placed.order;
  }

  @Post('bulk')
  @HttpCode(200)
  @RequireScope('orders:write')
  async placeMany(
    @Body(new InputPipe(newOrdersSchema)) { orders }: { orders: NewOrder[] },
    @ByCaller() by: ActionContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ results: BulkResult[] }> {
    return { results: (await this.placeOrders.execute(scopedOrders(orders, scope), by)).map(toBulkResult) };
  }

  @Get(':id')
  @RequireScope('orders:read')
  async read(@Param('id', new InputPipe(fields.orderId)) id: string): Promise<OrderView> {
    const order = await this.readOrder.execute(id);
    if (!order) throw notFound(id);
    return order;
  }

  @Get(':id/history')
  @RequireScope('orders:read')
  async history(@Param('id', new InputPipe(fields.orderId)) id: string): Promise<HistoryEntry[]> {
    const entries = await this.readHistory.execute(id);
    if (entries.length === 0) throw notFound(id);
    return entries;
  }
}

function toBulkResult(result: PlaceResult): BulkResult {
  const { id, outcome } = result;
  if (result.outcome !== 'rejected') return { id, outcome };
  return { id, outcome, code: result.code, detail: reject(id, result).reason };
}
