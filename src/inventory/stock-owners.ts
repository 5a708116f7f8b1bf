import { type EntityManager } from 'typeorm';

/** Who owns skus. A sku without an owner is everybody's; an owner never changes. */
export class StockOwners {
  private readonly claimSql: string;
  private readonly ownerSql: string;

  /** @param schema validated name of the PostgreSQL schema. */
  constructor(schema: string) {
    this.claimSql = `
      INSERT INTO ${schema}.inventory (sku, on_hand, merchant_id) VALUES ($1, 0, $2) ON CONFLICT (sku) DO NOTHING`;
    this.ownerSql = `SELECT merchant_id FROM ${schema}.inventory WHERE sku = $1`;
  }

  /** Makes a new sku the merchant's, with nothing on hand. False: the sku is everybody's or another's. */
  async claim(tx: EntityManager, sku: string, merchantId: string): Promise<boolean> {
    await tx.query(this.claimSql, [sku, merchantId]);
    return (await this.of(tx, sku)) === merchantId;
  }

  /** Null: everybody's. Undefined: there is no such sku. */
  async of(tx: EntityManager, sku: string): Promise<string | null | undefined> {
    const [row] = await tx.query<{ merchant_id: string | null }[]>(this.ownerSql, [sku]);
    return row?.merchant_id;
  }
}
