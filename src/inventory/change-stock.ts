import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { Database, ExpectedRollback, statements } from '../database';
import { Inventory, type SetStockOutcome } from './inventory';

/** Either the new stock (`onHand`, on condition of `expected`), or how many units to add. */
export interface StockMove {
  readonly onHand?: number | undefined;
  readonly expected?: number | undefined;
  readonly add?: number | undefined;
}

/** `foreign`: the SKU is shared or belongs to another merchant. */
export type ChangeStockOutcome = SetStockOutcome | { readonly type: 'foreign' };

/** Rolls back, or a refused change would leave an empty SKU behind. */
class Refused extends ExpectedRollback {
  constructor(readonly outcome: ChangeStockOutcome) {
    super('the stock cannot be changed');
  }
}

/** Owners of SKUs. All merchants share a SKU without an owner. An owner never changes. */
@Injectable()
export class StockOwners {
  /** @internal Nest creates it. */
  constructor(private readonly database: Database) {}

  /** Creates a new SKU for the merchant, with no stock. False: the SKU is shared or belongs to another merchant. */
  async claim(tx: EntityManager, sku: string, merchantId: string): Promise<boolean> {
    await tx.query(sql(this.database).claim, [sku, merchantId]);
    return (await this.of(tx, sku)) === merchantId;
  }

  /** Null: shared by all merchants. Undefined: the SKU does not exist. */
  async of(tx: EntityManager, sku: string): Promise<string | null | undefined> {
    const [row] = await tx.query<{ merchant_id: string | null }[]>(sql(this.database).owner, [sku]);
    return row?.merchant_id;
  }
}

/** Changes the stock of one SKU for callers from outside, in a transaction of its own. */
@Injectable()
export class ChangeStock {
  /** @internal Nest creates it. */
  constructor(
    private readonly database: Database,
    private readonly inventory: Inventory,
    private readonly owners: StockOwners,
  ) {}

  /** @param owner the merchant that gets a new SKU. An existing SKU must be its own. Absent: any SKU, and new ones are shared. */
  async execute(sku: string, move: StockMove, owner?: string): Promise<ChangeStockOutcome> {
    if (owner === undefined) return this.write(this.database.dataSource.manager, sku, move);
    try {
      return await this.database.transaction((tx) => this.writeAs(tx, owner, sku, move));
    } catch (error) {
      if (error instanceof Refused) return error.outcome;
      throw error;
    }
  }

  private async writeAs(tx: EntityManager, owner: string, sku: string, move: StockMove): Promise<ChangeStockOutcome> {
    if (!(await this.owners.claim(tx, sku, owner))) throw new Refused({ type: 'foreign' });
    const outcome = await this.write(tx, sku, move);
    if (outcome.type !== 'set') throw new Refused(outcome);
    return outcome;
  }

  private write(tx: EntityManager, sku: string, { onHand, expected, add }: StockMove): Promise<SetStockOutcome> {
    if (onHand === undefined) return this.inventory.addStock(tx, sku, add ?? 0);
    return this.inventory.setStock(tx, sku, onHand, { expected });
  }
}

const sql = statements((schema) => ({
  claim: `
      INSERT INTO ${schema}.inventory (sku, on_hand, merchant_id) VALUES ($1, 0, $2) ON CONFLICT (sku) DO NOTHING`,
  owner: `SELECT merchant_id FROM ${schema}.inventory WHERE sku = $1`,
}));
