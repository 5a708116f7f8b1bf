import { Controller, HttpCode, Post, UseFilters, UseGuards, VERSION_NEUTRAL } from '@nestjs/common';
import { TimeoutEngine } from '../../timeouts';
import { ApiKeyGuard, RequireScope } from './api-key.guard';
import { CallerScope } from './caller-scope.decorator';
import { type MerchantScope } from './merchant-scope';
import { ProblemFilter } from './problem.filter';

/** Operator actions on all pending timeouts. Refused for keys that are limited to merchants. */
@Controller({ path: 'timeouts', version: VERSION_NEUTRAL })
@UseGuards(ApiKeyGuard)
@UseFilters(ProblemFilter)
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
