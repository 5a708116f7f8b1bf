import { type DataSource, type EntityManager } from 'typeorm';
import { ownQuery } from '../../database';

/** Finds the merchant of an order. The merchant never changes, so the answer stays valid. */
export class OrderMerchants {
  private readonly sql: string;
  private readonly othersSql: string;

  constructor(
    private readonly dataSource: DataSource,
    schema: string,
  ) {
    this.sql = `SELECT merchant_id FROM ${schema}.orders WHERE id = $1`;
    this.othersSql = `SELECT 1 FROM ${schema}.orders WHERE id = ANY($1::text[]) AND merchant_id <> $2 LIMIT 1`;
  }

  /** The merchant id of the order. Undefined: there is no such order. */
  async of(orderId: string): Promise<string | undefined> {
    const [row] = await ownQuery<{ merchant_id: string }[]>(this.dataSource, this.sql, [orderId]);
    return row?.merchant_id;
  }

  /** Whether any of these orders belongs to another merchant. */
  async hasOther(tx: EntityManager, orderIds: readonly string[], merchantId: string): Promise<boolean> {
    return (await tx.query<unknown[]>(this.othersSql, [orderIds, merchantId])).length > 0;
  }
}
