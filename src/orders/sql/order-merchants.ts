import { type DataSource } from 'typeorm';
import { ownQuery } from '../../database';

/** Tells whose an order is. That never changes, so the answer is good for whatever is done next. */
export class OrderMerchants {
  private readonly sql: string;

  constructor(
    private readonly dataSource: DataSource,
    schema: string,
  ) {
    this.sql = `SELECT merchant_id FROM ${schema}.orders WHERE id = $1`;
  }

  /** The merchant id of the order; undefined: there is no such order. */
  async of(orderId: string): Promise<string | undefined> {
    const [row] = await ownQuery<{ merchant_id: string }[]>(this.dataSource, this.sql, [orderId]);
    return row?.merchant_id;
  }
}
