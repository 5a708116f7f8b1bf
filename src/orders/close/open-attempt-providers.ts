import { type DataSource } from 'typeorm';
import { ownQuery } from '../../database';
import { timeoutExists } from '../../timeouts';
import { ORDER_LATE_WATCH, PAYMENT_RECONCILIATION } from '../order-timeouts';

/**
 * The providers that may still be asked about an attempt. A process that handles deadlines must know all of them, or it
 * parks their orders.
 */
export async function openAttemptProviders(dataSource: DataSource, schema: string): Promise<string[]> {
  const rows = await ownQuery<{ provider: string }[]>(
    dataSource,
    `SELECT DISTINCT a.provider FROM ${schema}.payment_attempt a
      WHERE a.status NOT IN ('PAID', 'CLOSED', 'REFUNDED', 'DUPLICATE', 'SETTLED')
         OR ${timeoutExists(schema, `'${ORDER_LATE_WATCH}'`, 'a.order_id')}
         OR ${timeoutExists(schema, `'${PAYMENT_RECONCILIATION}'`, 'a.order_id')}
      ORDER BY 1`,
  );
  return rows.map(({ provider }) => provider);
}
