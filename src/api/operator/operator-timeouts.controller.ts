import { Body, Get, HttpCode, Inject, Post, Query } from '@nestjs/common';
import { type z } from 'zod';
import { merchantTimeouts } from '../../orders';
import {
  type ParkedGroup,
  RESOLVED_TIMEOUTS_OPTIONS,
  type ResolvedTimeoutsOptions,
  type TimeoutScope,
  TimeoutSummary,
} from '../../timeouts';
import { InputPipe, operatorParkedPageSchema, operatorRescheduleSchema, operatorTimeoutsSchema } from '../input';
import { CallerScope, type MerchantScope } from '../http';
import { ByOperator, type OperatorContext } from './by-operator.decorator';
import { OperatorController } from './operator-controller.decorator';
import { RequireRole } from './operator.guard';
import { type TimeoutView, toTimeoutView } from './order-page';
import { ParkedWork } from './parked-work';

type Chosen = z.output<typeof operatorTimeoutsSchema>;

/** Parked timeouts. A key that is limited to merchants sees only those of their orders. */
@OperatorController('api/parked-timeouts')
export class OperatorTimeoutsController {
  constructor(
    private readonly summary: TimeoutSummary,
    private readonly work: ParkedWork,
    @Inject(RESOLVED_TIMEOUTS_OPTIONS) private readonly options: ResolvedTimeoutsOptions,
  ) {}

  /** By kind and key. `afterKind` and `afterKey` are those of the last entry of the previous page. */
  @Get()
  @RequireRole('read')
  async list(
    @Query(new InputPipe(operatorParkedPageSchema)) page: z.output<typeof operatorParkedPageSchema>,
    @CallerScope() scope: MerchantScope,
  ): Promise<TimeoutView[]> {
    const { afterKind: kind, afterKey: key, ...others } = page;
    const found = await this.summary.parkedPage({ ...others, after: { kind, key } }, this.within(scope));
    return found.map(toTimeoutView);
  }

  @Get('groups')
  @RequireRole('read')
  groups(@CallerScope() scope: MerchantScope): Promise<ParkedGroup[]> {
    return this.summary.parkedGroups(this.within(scope));
  }

  @Post('replay')
  @HttpCode(200)
  @RequireRole('operate')
  async replay(
    @Body(new InputPipe(operatorTimeoutsSchema)) { timeouts, reason }: Chosen,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number }> {
    return { count: await this.work.timeouts({ do: 'replay' }, timeouts, scope, { by, reason }) };
  }

  @Post('reschedule')
  @HttpCode(200)
  @RequireRole('operate')
  async reschedule(
    @Body(new InputPipe(operatorRescheduleSchema)) { timeouts, reason, afterMs }: Chosen & { afterMs: number },
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number }> {
    return { count: await this.work.timeouts({ do: 'reschedule', afterMs }, timeouts, scope, { by, reason }) };
  }

  @Post('discard')
  @HttpCode(200)
  @RequireRole('operate')
  async discard(
    @Body(new InputPipe(operatorTimeoutsSchema)) { timeouts, reason }: Chosen,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number }> {
    return { count: await this.work.timeouts({ do: 'discard' }, timeouts, scope, { by, reason }) };
  }

  private within({ merchants }: MerchantScope): TimeoutScope | undefined {
    return merchants && merchantTimeouts(this.options.schema, merchants);
  }
}
