import {
  Body,
  Controller,
  Get,
  HttpCode,
  Inject,
  Post,
  Query,
  UseFilters,
  UseGuards,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { z } from 'zod';
import {
  ParkedTimeouts,
  RESOLVED_TIMEOUTS_OPTIONS,
  type ResolvedTimeoutsOptions,
  type TimeoutRecord,
  type TimeoutRef,
  type TimeoutScope,
} from '../../timeouts';
import { InputPipe } from '../input';
import { merchantTimeouts } from '../../orders';
import { ApiKeyGuard, RequireScope } from './api-key.guard';
import { CallerScope } from './caller-scope.decorator';
import { type MerchantScope } from './merchant-scope';
import { ProblemFilter } from './problem.filter';

const MAX_AT_ONCE = 1_000;
const MAX_KIND = 100;
const MAX_KEY = 200;

/** PostgreSQL does not accept NUL in text. */
const text = (min: number, max: number) =>
  z
    .string()
    .min(min)
    .max(max)
    .regex(/^[^\0]*$/, 'must not contain NUL');

const page = z.strictObject({
  limit: z.coerce.number().int().min(1).max(MAX_AT_ONCE).default(100),
  afterKind: text(0, MAX_KIND).default(''),
  afterKey: text(0, MAX_KEY).default(''),
});
const chosen = z.strictObject({
  timeouts: z
    .array(z.strictObject({ kind: text(1, MAX_KIND), key: text(1, MAX_KEY) }))
    .min(1, 'must name at least one timeout')
    .max(MAX_AT_ONCE, `must name at most ${MAX_AT_ONCE} timeouts`),
});

interface Chosen {
  readonly timeouts: readonly TimeoutRef[];
}

/** Operator actions on parked timeouts. A key that is limited to merchants sees only those of their orders. */
@Controller({ path: 'timeouts/parked', version: VERSION_NEUTRAL })
@UseGuards(ApiKeyGuard)
@UseFilters(ProblemFilter)
export class ParkedTimeoutsController {
  constructor(
    private readonly parked: ParkedTimeouts,
    @Inject(RESOLVED_TIMEOUTS_OPTIONS) private readonly options: ResolvedTimeoutsOptions,
  ) {}

  /** Ordered by kind and key. `afterKind` and `afterKey` are those of the last entry of the previous page. */
  @Get()
  @RequireScope('admin')
  list(
    @Query(new InputPipe(page)) { limit, afterKind, afterKey }: z.output<typeof page>,
    @CallerScope() scope: MerchantScope,
  ): Promise<TimeoutRecord[]> {
    return this.parked.list({ limit, after: { kind: afterKind, key: afterKey } }, this.within(scope));
  }

  /** Makes them due now, and resets their number of failed runs. */
  @Post('replay')
  @RequireScope('admin')
  @HttpCode(200)
  async replay(
    @Body(new InputPipe(chosen)) { timeouts }: Chosen,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number }> {
    return { count: await this.parked.replay(timeouts, this.within(scope)) };
  }

  /** Ends them without running their handler. The order of a discarded timeout keeps its status. */
  @Post('discard')
  @RequireScope('admin')
  @HttpCode(200)
  async discard(
    @Body(new InputPipe(chosen)) { timeouts }: Chosen,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number }> {
    return { count: await this.parked.discard(timeouts, this.within(scope)) };
  }

  private within({ merchants }: MerchantScope): TimeoutScope | undefined {
    return merchants && merchantTimeouts(this.options.schema, merchants);
  }
}
