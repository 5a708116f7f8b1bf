import { type DataSource } from 'typeorm';
import { ownQuery } from '../../database';
import { reservedOrderIds } from '../../inventory';
import { timeoutExists } from '../../timeouts';
import { ORDER_PAYMENT } from '../order-timeouts';

/** Orders with the same piece missing. */
export interface Incomplete {
  readonly count: number;
  /** The first ids, three at most. */
  readonly ids: readonly string[];
}

/** What one transaction writes together, and of which only a part is there. */
export interface Pieces {
  /** Orders that nothing will close. */
  readonly withoutTimeout: Incomplete;
  /** Orders that have stock, and do not exist or have ended without a sale. */
  readonly withoutOrder: Incomplete;
}

const COUNT = `SELECT count(*)::int AS count, COALESCE((array_agg(id ORDER BY id))[1:3], '{}') AS ids`;

/** Reads every undecided order and every reservation: some seconds per million. */
export async function findPieces(dataSource: DataSource, schema: string): Promise<Pieces> {
  const [withoutTimeout] = await ownQuery<[Incomplete]>(
    dataSource,
    `${COUNT} FROM ${schema}.orders o
      WHERE o.status IN ('PENDING', 'CLOSING') AND (o.auto_close OR o.status = 'CLOSING')
        AND NOT ${timeoutExists(schema, `'${ORDER_PAYMENT}'`, 'o.id')}`,
  );
  const [withoutOrder] = await ownQuery<[Incomplete]>(
    dataSource,
    `${COUNT} FROM (SELECT order_id AS id FROM (${reservedOrderIds(schema)}) r) held
      WHERE NOT EXISTS (SELECT 1 FROM ${schema}.orders o
                         WHERE o.id = held.id AND o.status NOT IN ('CLOSED', 'CANCELLED', 'CLOSED_REFUNDED'))`,
  );
  return { withoutTimeout, withoutOrder };
}
