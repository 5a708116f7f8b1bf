import { fromExpiringKeys, fromSortedSet } from '../../../examples/moving/from-redis';
import { ImportTarget, pendingOrders } from '../../support/import-target';
import { openRedis } from './open-redis';

describe('the import from Redis', () => {
  let target: ImportTarget;
  let server: Awaited<ReturnType<typeof openRedis>>;

  beforeAll(async () => {
    [target, server] = await Promise.all([ImportTarget.open(), openRedis()]);
  });
  afterAll(async () => {
    await server.close();
    await target.close();
  });
  afterEach(async () => {
    await server.redis.flushall();
    await target.forget();
  });

  it('takes every member of a sorted set, with its score as the deadline', async () => {
    const orders = pendingOrders();
    await server.redis.zadd('order-deadlines', ...orders.flatMap(({ orderId, dueAt }) => [dueAt.getTime(), orderId]));
    expect(await target.import(fromSortedSet(server.redis, 'order-deadlines'))).toBeGreaterThanOrEqual(2_500);
    expect(await target.pending()).toEqual(orders);
  });

  it('takes every key that expires, and no other', async () => {
    const orders = pendingOrders();
    await Promise.all(
      orders.map(({ orderId, dueAt }) => server.redis.set(`order:${orderId}`, '', 'PX', dueAt.getTime() - Date.now())),
    );
    await server.redis.set('order:o-forever', '');
    await server.redis.set('basket:b-1', '', 'PX', 600_000);
    const read: string[] = [];
    for await (const page of fromExpiringKeys(server.redis, 'order:')) read.push(...page.map(({ orderId }) => orderId));
    expect(new Set(read)).toEqual(new Set(orders.map(({ orderId }) => orderId)));
    await target.import(fromExpiringKeys(server.redis, 'order:'));
    const pending = await target.pending();
    expect(pending.map(({ orderId }) => orderId)).toEqual(orders.map(({ orderId }) => orderId));
    const errorsMs = pending.map(({ dueAt }, index) => Math.abs(dueAt.getTime() - Number(orders[index]?.dueAt)));
    expect(Math.max(...errorsMs)).toBeLessThan(1_000);
  });
});
