import { Get } from '@nestjs/common';
import { CallerScope, type MerchantScope } from '../http';
import { OperatorController } from './operator-controller.decorator';
import { RequireRole } from './operator.guard';
import { type Overview } from './overview';
import { ReadOverview } from './read-overview';

/** The state of everything. */
@OperatorController('api/overview')
export class OverviewController {
  constructor(private readonly reading: ReadOverview) {}

  @Get()
  @RequireRole('read')
  read(@CallerScope() scope: MerchantScope): Promise<Overview> {
    return this.reading.execute(scope);
  }
}
