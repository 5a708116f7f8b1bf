import { type EntityManager } from 'typeorm';

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
