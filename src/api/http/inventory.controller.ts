import { Body, Controller, Get, Inject, Param, Put, UseFilters, UseGuards, VERSION_NEUTRAL } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { ownTransaction } from '../../database';
import { Inventory, type StockLevel, StockOwners } from '../../inventory';
import { RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions } from '../../timeouts';
import { fields } from '../../orders/input';
import { InputPipe, rejectStock, RequestRejectedError, type StockChange, stockChangeSchema } from '../input';
import { ApiKeyGuard, RequireScope } from './api-key.guard';
import { CallerScope } from './caller-scope.decorator';
import { HttpProblem } from './http-problem';
import { type MerchantScope } from './merchant-scope';
import { ProblemFilter } from './problem.filter';

const sku = new InputPipe(fields.sku);

/**
 * Changes and reads stock. A key that is limited to merchants changes their SKUs, and reads their and the shared SKUs.
 */
@Controller({ path: 'inventory', version: VERSION_NEUTRAL })
@UseGuards(ApiKeyGuard)
@UseFilters(ProblemFilter)
export class InventoryController {
  private readonly owners: StockOwners;

  constructor(
    private readonly inventory: Inventory,
    @Inject(RESOLVED_TIMEOUTS_OPTIONS) private readonly options: ResolvedTimeoutsOptions,
  ) {
    this.owners = new StockOwners(options.schema);
  }

  @Put(':sku')
  @RequireScope('inventory:write')
  async set(
    @Param('sku', sku) id: string,
    @Body(new InputPipe(stockChangeSchema)) { merchantId, ...change }: StockChange,
    @CallerScope() scope: MerchantScope,
  ): Promise<StockLevel> {
    const { manager } = this.options.dataSource;
    const owner = scope.merchantFor(merchantId);
    if (owner === undefined) return this.write(manager, id, change);
    // In one transaction, or a refused request would leave an empty SKU behind.
    return ownTransaction(this.options.dataSource, async (tx) => {
      if (await this.owners.claim(tx, id, owner)) return this.write(tx, id, change);
      throw new HttpProblem(
        'FORBIDDEN',
        `SKU "${id}" is shared or does not belong to "${owner}"; use another SKU, or a key without merchants`,
      );
    });
  }

  @Get(':sku')
  @RequireScope('orders:read', 'inventory:write')
  async read(@Param('sku', sku) id: string, @CallerScope() scope: MerchantScope): Promise<StockLevel> {
    const { manager } = this.options.dataSource;
    const owner = scope.isRestricted ? await this.owners.of(manager, id) : null;
    const isVisible = owner === null || (owner !== undefined && scope.allows(owner));
    const [level] = isVisible ? await this.inventory.read(manager, [id]) : [];
    if (level) return level;
    throw new RequestRejectedError('SKU_NOT_FOUND', `there is no SKU "${id}"; set its stock first`);
  }

  private async write(tx: EntityManager, id: string, { onHand, expected, add }: StockChange): Promise<StockLevel> {
    const outcome =
      onHand === undefined
        ? await this.inventory.addStock(tx, id, add ?? 0)
        : await this.inventory.setStock(tx, id, onHand, { expected });
    if (outcome.type === 'set') return outcome.level;
    throw rejectStock(id, outcome);
  }
}
