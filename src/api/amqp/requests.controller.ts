import { Controller, Inject, UseFilters, UseGuards } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import { RABBIT_TRANSPORT } from '../../rabbit';
import { Inventory, type StockLevel } from '../../inventory';
import { type OrderList, type OrderPage, Orders, type OrderView } from '../../orders';
import { RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions } from '../../timeouts';
import { InputPipe, notFound, skuNotFound } from '../input';
import { AnswerableGuard } from './answerable.guard';
import { CommandErrorFilter } from './command-error.filter';
import { REQUEST_SCHEMAS, type RequestBody } from './command-schemas';

/** Requests over AMQP, which read for every merchant. Those without a queue for the answer are parked. */
@Controller()
@UseGuards(AnswerableGuard)
@UseFilters(CommandErrorFilter)
export class RequestsController {
  constructor(
    private readonly orders: Orders,
    private readonly inventory: Inventory,
    @Inject(RESOLVED_TIMEOUTS_OPTIONS) private readonly options: ResolvedTimeoutsOptions,
  ) {}

  @EventPattern<string>('order.read', RABBIT_TRANSPORT)
  async order(
    @Payload(new InputPipe(REQUEST_SCHEMAS['order.read'])) { orderId }: RequestBody<'order.read'>,
  ): Promise<OrderView> {
    const order = await this.orders.get(orderId);
    if (!order) throw notFound(orderId);
    return order;
  }

  @EventPattern<string>('orders.read', RABBIT_TRANSPORT)
  list(@Payload(new InputPipe(REQUEST_SCHEMAS['orders.read'])) page: OrderPage): Promise<OrderList> {
    return this.orders.list(page);
  }

  @EventPattern<string>('stock.read', RABBIT_TRANSPORT)
  async stock(
    @Payload(new InputPipe(REQUEST_SCHEMAS['stock.read'])) { sku }: RequestBody<'stock.read'>,
  ): Promise<StockLevel> {
    const [level] = await this.inventory.read(this.options.dataSource.manager, [sku]);
    if (!level) throw skuNotFound(sku);
    return level;
  }
}
