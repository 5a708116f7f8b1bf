import { ErasePersonalData } from '../../../src/orders/retention/purge-orders';
import { type OperatorDesk } from './operator-desk';
import { purgeOf, SCHEMA } from './shop';

const DAY_MS = 86_400_000;

/** Erases an order whose timeouts and events are done. */
export async function eraseOrder({ shop }: Pick<OperatorDesk, 'shop'>, orderId: string): Promise<void> {
  await finish(shop, orderId);
  const erasing = shop.services.get(ErasePersonalData);
  expect(await erasing.execute({ orderId, reason: 'request 4711' })).toMatchObject({ outcome: 'erased' });
}

/** Purges an order whose timeouts and events are done, as if it had ended 90 days ago. */
export async function purgeOrder({ shop }: OperatorDesk, orderId: string): Promise<void> {
  await finish(shop, orderId);
  await shop.dataSource.query(`UPDATE ${SCHEMA}.orders SET updated_at = now() - interval '90 days' WHERE id = $1`, [
    orderId,
  ]);
  const purging = purgeOf(shop, { finishedOrdersMs: 30 * DAY_MS, idempotencyKeysMs: 0 });
  expect(await purging.runOnce()).toMatchObject({ orders: 1 });
}

async function finish({ dataSource }: OperatorDesk['shop'], orderId: string): Promise<void> {
  await dataSource.query(`DELETE FROM ${SCHEMA}.timeout WHERE key = $1`, [orderId]);
  await dataSource.query(`DELETE FROM ${SCHEMA}.outbox`);
}
