import { type DataSource } from 'typeorm';
import { ownQuery } from '../../database';

/** Finds the merchant of an order. The merchant never changes, so the answer stays valid. */
export class OrderMerchants {
  private readonly sql: string;

  constructor(
    private readonly dataSource: DataSource,
    schema: string,
  ) {
    this.sql = `SELECT merchant_id FROM ${schema}.orders WHERE id = $1`;
  }

  /** The merchant id of the order. Undefined: there is no such order. */
  async of(orderId: string): Promise<string | undefined> {
    const [row] = await ownQuery<{ merchant_id: string }[]>(this.dataSource, this.sql, [orderId]);
    return row?.merchant_id;
  }
}
