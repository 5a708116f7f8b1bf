import { type DataSource, type EntityManager } from 'typeorm';
import { ExpectedRollback, ownTransaction } from '../database';
import { type Inventory } from './inventory';
import { type SetStockOutcome } from './stock';

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

/** Changes the stock of one SKU for callers from outside, in a transaction of its own. */
export class ChangeStock {
  private readonly owners: StockOwners;

  /** @internal @param schema validated name of the PostgreSQL schema. */
  constructor(
    private readonly dataSource: DataSource,
    private readonly inventory: Inventory,
    schema: string,
  ) {
    this.owners = new StockOwners(schema);
  }

  /** @param owner the merchant that gets a new SKU. An existing SKU must be its own. Absent: any SKU, and new ones are shared. */
  async execute(sku: string, move: StockMove, owner?: string): Promise<ChangeStockOutcome> {
    if (owner === undefined) return this.write(this.dataSource.manager, sku, move);
    try {
      return await ownTransaction(this.dataSource, (tx) => this.writeAs(tx, owner, sku, move));
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

/** Owners of SKUs. All merchants share a SKU without an owner. An owner never changes. */
export class StockOwners {
  private readonly claimSql: string;
  private readonly ownerSql: string;

  /** @param schema validated name of the PostgreSQL schema. */
  constructor(schema: string) {
    this.claimSql = `
      INSERT INTO ${schema}.inventory (sku, on_hand, merchant_id) VALUES ($1, 0, $2) ON CONFLICT (sku) DO NOTHING`;
    this.ownerSql = `SELECT merchant_id FROM ${schema}.inventory WHERE sku = $1`;
  }

  /** Creates a new SKU for the merchant, with no stock. False: the SKU is shared or belongs to another merchant. */
  async claim(tx: EntityManager, sku: string, merchantId: string): Promise<boolean> {
    await tx.query(this.claimSql, [sku, merchantId]);
    return (await this.of(tx, sku)) === merchantId;
  }

  /** Null: shared by all merchants. Undefined: the SKU does not exist. */
  async of(tx: EntityManager, sku: string): Promise<string | null | undefined> {
    const [row] = await tx.query<{ merchant_id: string | null }[]>(this.ownerSql, [sku]);
    return row?.merchant_id;
  }
}
