import { Controller, HttpCode, Post, UseFilters, UseGuards } from '@nestjs/common';
import { TimeoutEngine } from '../../timeouts';
import { ApiKeyGuard, RequireScope } from './api-key.guard';
import { CallerScope } from './caller-scope.decorator';
import { type MerchantScope } from './merchant-scope';
import { ProblemFilter } from './problem.filter';

/** An operator's actions on all pending timeouts. Refused for keys that are limited to merchants. */
@Controller('timeouts')
@UseGuards(ApiKeyGuard)
@UseFilters(ProblemFilter)
export class TimeoutOperatorController {
  constructor(private readonly engine: TimeoutEngine) {}

  /** Publishes the wake-ups of everything pending again, in the background; `off` with the transport `none`. */
  @Post('republish')
  @RequireScope('admin')
  @HttpCode(202)
  async republish(@CallerScope() scope: MerchantScope): Promise<{ outcome: 'requested' | 'off' }> {
    if (scope.isRestricted) throw scope.forbidden('the timeouts of all merchants are published together');
    return { outcome: await this.engine.path.republish() };
  }
}
