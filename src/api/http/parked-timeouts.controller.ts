import { Body, Get, HttpCode, Inject, Post, Query } from '@nestjs/common';
import { type z } from 'zod';
import {
  ParkedTimeouts,
  RESOLVED_TIMEOUTS_OPTIONS,
  type ResolvedTimeoutsOptions,
  type TimeoutRecord,
  type TimeoutRef,
  TimeoutEngine,
} from '../../timeouts';
import { chosenTimeoutsSchema, InputPipe, parkedPageSchema } from '../input';
import { Action, ApiController, RequireScope } from './caller.guard';
import { CallerScope, type MerchantScope } from './caller';

interface Chosen {
  readonly timeouts: readonly TimeoutRef[];
}

/** Operator actions on parked timeouts. A key that is limited to merchants sees only those of their orders. */
@ApiController('timeouts/parked')
export class ParkedTimeoutsController {
  constructor(
    private readonly parked: ParkedTimeouts,
    @Inject(RESOLVED_TIMEOUTS_OPTIONS) private readonly options: ResolvedTimeoutsOptions,
  ) {}

  /** Ordered by kind and key. `afterKind` and `afterKey` are those of the last entry of the previous page. */
  @Get()
  @RequireScope('admin')
  list(
    @Query(new InputPipe(parkedPageSchema)) { limit, afterKind, afterKey }: z.output<typeof parkedPageSchema>,
    @CallerScope() scope: MerchantScope,
  ): Promise<TimeoutRecord[]> {
    return this.parked.list({ limit, after: { kind: afterKind, key: afterKey } }, scope.timeouts(this.options.schema));
  }

  /** Makes them due now, and resets their number of failed runs. */
  @Action('replay')
  @RequireScope('admin')
  async replay(
    @Body(new InputPipe(chosenTimeoutsSchema)) { timeouts }: Chosen,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number }> {
    return { count: await this.parked.replay(timeouts, scope.timeouts(this.options.schema)) };
  }

  /** Ends them without running their handler. The order of a discarded timeout keeps its status. */
  @Action('discard')
  @RequireScope('admin')
  async discard(
    @Body(new InputPipe(chosenTimeoutsSchema)) { timeouts }: Chosen,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number }> {
    return { count: await this.parked.discard(timeouts, scope.timeouts(this.options.schema)) };
  }
}

/** Operator actions on all pending timeouts. Refused for keys that are limited to merchants. */
@ApiController('timeouts')
export class TimeoutOperatorController {
  constructor(private readonly engine: TimeoutEngine) {}

  /** Publishes the wake-ups of all pending timeouts again, in the background. `off`: the transport is `none`. */
  @Post('republish')
  @RequireScope('admin')
  @HttpCode(202)
  async republish(@CallerScope() scope: MerchantScope): Promise<{ outcome: 'requested' | 'off' }> {
    if (scope.isRestricted) throw scope.forbidden('the wake-ups of all merchants are published together');
    return { outcome: await this.engine.path.republish() };
  }
}
