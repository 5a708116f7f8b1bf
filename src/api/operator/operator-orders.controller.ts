import { Body, Get, Param, Query } from '@nestjs/common';
import { type z } from 'zod';
import { type PersonalData, RevealPersonalData } from '../../orders';
import { fields, operatorPageSchema } from '../../orders/input';
import { accepted, InputPipe, notFound, reasonSchema, refundPageSchema } from '../input';
import { Action, ByOperator, CallerScope, type MerchantScope, type OperatorContext, RequireRole } from '../http';
import {
  ListRefunds,
  type OrderPageView,
  type OrderSearch,
  type OrderSearchPage,
  ReadOrderPage,
  type RefundView,
  SearchOrders,
} from './order-page';
import { OperatorController } from './page-actions';

const orderId = new InputPipe(fields.orderId);

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

  @Action(':id/reveal')
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

/** Refunds that are not done. A key that is limited to merchants sees those of their orders. */
@OperatorController('api/refunds')
export class RefundsController {
  constructor(private readonly listing: ListRefunds) {}

  @Get()
  @RequireRole('read')
  refunds(
    @Query(new InputPipe(refundPageSchema)) { state, limit }: z.output<typeof refundPageSchema>,
    @CallerScope() scope: MerchantScope,
  ): Promise<RefundView[]> {
    return this.listing.execute(state, limit, scope);
  }
}
