import { Body, Controller, Get, Inject, Param, Put, UseFilters, UseGuards } from '@nestjs/common';
import { Inventory, type StockLevel } from '../../inventory';
import { RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions } from '../../timeouts';
import { fields, InputPipe, rejectStock, RequestRejectedError, type StockChange, stockChangeSchema } from '../input';
import { ApiKeyGuard, RequireScope } from './api-key.guard';
import { ProblemFilter } from './problem.filter';

const sku = new InputPipe(fields.sku);

/** Changes and reads stock. */
@Controller('inventory')
@UseGuards(ApiKeyGuard)
@UseFilters(ProblemFilter)
export class InventoryController {
  constructor(
    private readonly inventory: Inventory,
    @Inject(RESOLVED_TIMEOUTS_OPTIONS) private readonly options: ResolvedTimeoutsOptions,
  ) {}

  @Put(':sku')
  @RequireScope('inventory:write')
  async set(
    @Param('sku', sku) id: string,
    @Body(new InputPipe(stockChangeSchema)) { onHand, expected, add }: StockChange,
  ): Promise<StockLevel> {
    const { manager } = this.options.dataSource;
    const outcome =
      onHand === undefined
        ? await this.inventory.addStock(manager, id, add ?? 0)
        : await this.inventory.setStock(manager, id, onHand, { expected });
    if (outcome.type === 'set') return outcome.level;
    throw rejectStock(id, outcome);
  }

  @Get(':sku')
  @RequireScope('orders:read', 'inventory:write')
  async read(@Param('sku', sku) id: string): Promise<StockLevel> {
    const [level] = await this.inventory.read(this.options.dataSource.manager, [id]);
    if (level) return level;
    throw new RequestRejectedError('SKU_NOT_FOUND', `there is no sku "${id}"; set its stock first`);
  }
}
