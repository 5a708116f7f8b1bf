import { Body, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { fields, operatorPageSchema } from '../../orders/input';
import { type PersonalData, RevealPersonalData } from '../../orders';
import { accepted, InputPipe, notFound, reasonSchema } from '../input';
import { CallerScope, type MerchantScope } from '../http';
import { ByOperator, type OperatorContext } from './by-operator.decorator';
import { OperatorController } from './operator-controller.decorator';
import { RequireRole } from './operator.guard';
import { type OrderPageView } from './order-page';
import { ReadOrderPage } from './read-order-page';
import { type OrderSearch, type OrderSearchPage, SearchOrders } from './search-orders';

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
