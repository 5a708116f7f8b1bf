import { Body, Get, Param, Put, Req } from '@nestjs/common';
import { ChangeStock, Inventory, type StockLevel, StockOwners } from '../../inventory';
import { Database } from '../../database';
import { fields } from '../../orders/input';
import { HttpProblem, InputPipe, reject, rejectStock, type StockChange, stockChangeSchema } from '../input';
import { ApiController, RequireScope } from './caller.guard';
import { type ApiRequest, refuseIdempotencyKey, CallerScope, type MerchantScope } from './caller';

const sku = new InputPipe(fields.sku);

/**
 * Changes and reads stock. A key that is limited to merchants changes their SKUs, and reads their and the shared SKUs.
 */
@ApiController('inventory')
export class InventoryController {
  constructor(
    private readonly inventory: Inventory,
    private readonly changing: ChangeStock,
    private readonly owners: StockOwners,
    private readonly database: Database,
  ) {}

  @Put(':sku')
  @RequireScope('inventory:write')
  async set(
    @Param('sku', sku) id: string,
    @Body(new InputPipe(stockChangeSchema)) { merchantId, ...change }: StockChange,
    @CallerScope() scope: MerchantScope,
    @Req() request: ApiRequest,
  ): Promise<StockLevel> {
    if (change.add !== undefined) refuseIdempotencyKey(request, 'send onHand with expected instead of add');
    const owner = scope.merchantFor(merchantId);
    const outcome = await this.changing.execute(id, change, owner);
    if (outcome.type === 'set') return outcome.level;
    if (outcome.type !== 'foreign') throw rejectStock(id, outcome);
    throw new HttpProblem(
      'FORBIDDEN',
      `SKU "${id}" is shared or does not belong to "${owner}"; use another SKU, or a key without merchants`,
    );
  }

  @Get(':sku')
  @RequireScope('orders:read', 'inventory:write')
  async read(@Param('sku', sku) id: string, @CallerScope() scope: MerchantScope): Promise<StockLevel> {
    const { manager } = this.database.dataSource;
    const owner = scope.isRestricted ? await this.owners.of(manager, id) : null;
    const isVisible = owner === null || (owner !== undefined && scope.allows(owner));
    const [level] = isVisible ? await this.inventory.read(manager, [id]) : [];
    if (level) return level;
    throw reject(id, { code: 'SKU_NOT_FOUND' });
  }
}
