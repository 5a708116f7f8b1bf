import { Controller, HttpCode, Post, UseFilters, UseGuards } from '@nestjs/common';
import { TimeoutEngine } from '../../timeouts';
import { ApiKeyGuard, RequireScope } from './api-key.guard';
import { CallerScope } from './caller-scope.decorator';
import { type MerchantScope } from './merchant-scope';
import { ProblemFilter } from './problem.filter';

/** What an operator does about all pending timeouts together. Not for a key that is limited to merchants. */
@Controller('timeouts')
@UseGuards(ApiKeyGuard)
@UseFilters(ProblemFilter)
export class TimeoutOperatorController {
  constructor(private readonly engine: TimeoutEngine) {}

  /** Publishes the wake-ups of everything pending once more, in the background; `off` when none are published at all. */
  @Post('republish')
  @RequireScope('admin')
  @HttpCode(202)
  async republish(@CallerScope() scope: MerchantScope): Promise<{ outcome: 'requested' | 'off' }> {
    if (scope.isRestricted) throw scope.forbidden('the timeouts of all merchants are published together');
    return { outcome: await this.engine.path.republish() };
  }
}
