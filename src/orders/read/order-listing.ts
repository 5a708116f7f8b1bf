import { type DataSource } from 'typeorm';
import { ownQuery } from '../../database';
import { type OrderStatus } from '../order-status';

/** An order in a list. `amount` is in minor units. */
export interface ListedOrder {
  readonly id: string;
  readonly merchantId: string;
  readonly status: OrderStatus;
  readonly amount: number;
  readonly currency: string;
  readonly expiresAt: Date;
  readonly createdAt: Date;
}

/** Which orders to list. What is absent does not limit the list. */
export interface OrderFilter {
  readonly status?: OrderStatus | undefined;
  readonly merchantId?: string | undefined;
  /** @default 100 */
  readonly limit?: number | undefined;
  /** The last id of the previous page. */
  readonly after?: string | undefined;
}

interface Row extends Omit<ListedOrder, 'amount'> {
  readonly amount: string;
}

/** Lists orders by their ids, page by page. A page walks the primary key until it is full. */
export class OrderListing {
  constructor(
    private readonly dataSource: DataSource,
    private readonly schema: string,
  ) {}

  async list({ status, merchantId, limit = 100, after = '' }: OrderFilter = {}): Promise<ListedOrder[]> {
    const rows = await ownQuery<Row[]>(
      this.dataSource,
      `SELECT id, merchant_id AS "merchantId", status, amount, currency, expires_at AS "expiresAt",
              created_at AS "createdAt"
         FROM ${this.schema}.orders
        WHERE id > $1 AND ($2::text IS NULL OR status = $2) AND ($3::text IS NULL OR merchant_id = $3)
        ORDER BY id LIMIT $4`,
      [after, status ?? null, merchantId ?? null, limit],
    );
    return rows.map((row) => ({ ...row, amount: Number(row.amount) }));
  }
}
