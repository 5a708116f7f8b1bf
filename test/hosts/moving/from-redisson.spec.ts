import { randomBytes } from 'node:crypto';
import { fromRedisson } from '../../../examples/moving/from-redisson';
import { ImportTarget, pendingOrders } from '../../support/import-target';
import { openRedis } from './open-redis';

/** What `RDelayedQueue.offer` runs on the server: releases up to 3.18 pack a number in front, later ones an id. */
const OFFER = {
  earlier: `redis.call('zadd', KEYS[1], ARGV[1], struct.pack('dLc0', tonumber('5220409939115423359'), string.len(ARGV[3]), ARGV[3]))`,
  later: `redis.call('zadd', KEYS[1], ARGV[1], struct.pack('Bc0Lc0', string.len(ARGV[2]), ARGV[2], string.len(ARGV[3]), ARGV[3]))`,
};
const TIMEOUTS = 'redisson_delay_queue_timeout:{close-orders}';

describe('the import from Redisson', () => {
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

  const offer = (release: keyof typeof OFFER, value: string, at: Date, idBytes = 8) =>
    server.redis.eval(OFFER[release], 1, TIMEOUTS, at.getTime(), randomBytes(idBytes), value);

  it.each(['earlier', 'later'] as const)('takes every element that %s releases wrote', async (release) => {
    const orders = pendingOrders(1_500);
    await Promise.all(orders.map(({ orderId, dueAt }) => offer(release, orderId, dueAt)));
    expect(await target.import(fromRedisson(server.redis, 'close-orders'))).toBeGreaterThanOrEqual(1_500);
    expect(await target.pending()).toEqual(orders);
  });

  it('takes an id of any length', async () => {
    const orders = pendingOrders(3);
    for (const [index, { orderId, dueAt }] of orders.entries()) await offer('later', orderId, dueAt, 8 * (index + 1));
    await target.import(fromRedisson(server.redis, 'close-orders'));
    expect(await target.pending()).toEqual(orders);
  });

  it('takes the decoder of another codec', async () => {
    const [order] = pendingOrders(1);
    if (!order) throw new Error('there is no order');
    await offer('later', JSON.stringify({ id: order.orderId }), order.dueAt);
    const decode = (value: Buffer): string => (JSON.parse(value.toString()) as { id: string }).id;
    await target.import(fromRedisson(server.redis, 'close-orders', decode));
    expect(await target.pending()).toEqual([order]);
  });

  it('refuses a set that Redisson has not written', async () => {
    await server.redis.zadd(TIMEOUTS, 1, 'o-1');
    await expect(target.import(fromRedisson(server.redis, 'close-orders'))).rejects.toThrow('RDelayedQueue');
  });
});
