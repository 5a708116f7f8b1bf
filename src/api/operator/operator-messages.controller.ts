import { Body, Get, HttpCode, Post, Query } from '@nestjs/common';
import { type z } from 'zod';
import { type ParkedRow } from '../../outbox';
import { chosenMessagesSchema, chosenRowsSchema, InputPipe, operatorPageLimitSchema } from '../input';
import { CallerScope, type MerchantScope } from '../http';
import { BrokerMessages, type ParkedMessageView } from './broker-messages';
import { ByOperator, type OperatorContext } from './by-operator.decorator';
import { OperatorController } from './operator-controller.decorator';
import { RequireRole } from './operator.guard';
import { ParkedWork } from './parked-work';

interface Chosen {
  readonly ids: string[];
  readonly reason: string;
}

type Limit = z.output<typeof operatorPageLimitSchema>;

/** Parked messages: in the outbox, and on the broker. Refused for keys that are limited to merchants. */
@OperatorController('api')
export class OperatorMessagesController {
  constructor(
    private readonly work: ParkedWork,
    private readonly messages: BrokerMessages,
  ) {}

  @Get('outbox/parked')
  @RequireRole('read')
  rows(
    @Query(new InputPipe(operatorPageLimitSchema)) { limit }: Limit,
    @CallerScope() scope: MerchantScope,
  ): Promise<ParkedRow[]> {
    assertForAll(scope);
    return this.work.rows(limit);
  }

  @Post('outbox/parked/replay')
  @HttpCode(200)
  @RequireRole('operate')
  async replayRows(
    @Body(new InputPipe(chosenRowsSchema)) { ids, reason }: Chosen,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number }> {
    assertForAll(scope);
    return { count: await this.work.changeRows('replay', ids, { by, reason }) };
  }

  @Post('outbox/parked/discard')
  @HttpCode(200)
  @RequireRole('operate')
  async discardRows(
    @Body(new InputPipe(chosenRowsSchema)) { ids, reason }: Chosen,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number }> {
    assertForAll(scope);
    return { count: await this.work.changeRows('discard', ids, { by, reason }) };
  }

  /** Null: there is no broker, or it does not answer. */
  @Get('messages/parked')
  @RequireRole('read')
  async list(
    @Query(new InputPipe(operatorPageLimitSchema)) { limit }: Limit,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ messages: ParkedMessageView[] | null }> {
    assertForAll(scope);
    return { messages: await this.messages.list(limit) };
  }

  @Post('messages/parked/replay')
  @HttpCode(200)
  @RequireRole('operate')
  replay(
    @Body(new InputPipe(chosenMessagesSchema)) { ids, reason }: Chosen,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number | null }> {
    return this.change('replay', ids, scope, { by, reason });
  }

  @Post('messages/parked/discard')
  @HttpCode(200)
  @RequireRole('operate')
  discard(
    @Body(new InputPipe(chosenMessagesSchema)) { ids, reason }: Chosen,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number | null }> {
    return this.change('discard', ids, scope, { by, reason });
  }

  private async change(
    action: 'replay' | 'discard',
    ids: readonly string[],
    scope: MerchantScope,
    because: { readonly by: OperatorContext; readonly reason: string },
  ): Promise<{ count: number | null }> {
    assertForAll(scope);
    return { count: await this.work.changeMessages(action, ids, because) };
  }
}

/** Messages do not say to which merchant they belong. */
function assertForAll(scope: MerchantScope): void {
  if (scope.isRestricted) throw scope.forbidden('messages of all merchants are kept together');
}
