import { Body, Controller, Get, Inject, Param, Put, UseFilters, UseGuards } from '@nestjs/common';
import { z } from 'zod';
import { Inventory, type StockLevel } from '../../inventory';
import { RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions } from '../../timeouts';
import { fields, InputPipe, RequestRejectedError } from '../input';
import { ApiKeyGuard, RequireScope } from './api-key.guard';
import { ProblemFilter } from './problem.filter';

const sku = new InputPipe(fields.sku);
const stock = z.strictObject({ onHand: fields.onHand });

/** Sets and reads stock. */
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
    @Body(new InputPipe(stock)) { onHand }: { onHand: number },
  ): Promise<StockLevel> {
    const outcome = await this.inventory.setStock(this.options.dataSource.manager, id, onHand);
    if (outcome.type === 'set') return outcome.level;
    const { reserved } = outcome;
    const reason = `${reserved} pieces of "${id}" are reserved for orders, so onHand must be at least ${reserved}`;
    throw new RequestRejectedError('STOCK_BELOW_RESERVED', reason, { reserved });
  }

  @Get(':sku')
  @RequireScope('orders:read', 'inventory:write')
  async read(@Param('sku', sku) id: string): Promise<StockLevel> {
    const [level] = await this.inventory.read(this.options.dataSource.manager, [id]);
    if (level) return level;
    throw new RequestRejectedError('SKU_NOT_FOUND', `there is no sku "${id}"; set its stock first`);
  }
}
