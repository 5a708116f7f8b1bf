import { fromBullMq } from '../../../examples/moving/from-bullmq';
import { until } from '../../support/engine';
import { ImportTarget, pendingOrders } from '../../support/import-target';
import { loadPeer } from './load-peer';
import { openRedis } from './open-redis';

type Source = Parameters<typeof fromBullMq>[0];

/** What the tests use of a queue of BullMQ. */
interface Queue extends Source {
  add(name: string, data: object, options?: object): Promise<unknown>;
  addBulk(jobs: readonly object[]): Promise<unknown>;
  obliterate(): Promise<void>;
  close(): Promise<void>;
}

describe('the import from BullMQ', () => {
  let target: ImportTarget;
  let server: Awaited<ReturnType<typeof openRedis>>;
  let queue: Queue;

  beforeAll(async () => {
    [target, server] = await Promise.all([ImportTarget.open(), openRedis()]);
    const { Queue: BullMqQueue } = loadPeer<{ Queue: new (name: string, options: object) => Queue }>('bullmq');
    queue = new BullMqQueue('close-orders', { connection: { host: '127.0.0.1', port: server.port } });
  });
  afterAll(async () => {
    await queue.close();
    await server.close();
    await target.close();
  });
  afterEach(async () => {
    await queue.obliterate();
    await target.forget();
  });

  it('takes every delayed job, with its deadline', async () => {
    const orders = pendingOrders();
    const timestamp = Date.now();
    await queue.addBulk(
      orders.map(({ orderId, dueAt }) => {
        const opts = { timestamp, delay: dueAt.getTime() - timestamp, jobId: orderId };
        return { name: 'close', data: { orderId }, opts };
      }),
    );
    expect(await target.import(fromBullMq(queue))).toBe(2_500);
    expect(await target.pending()).toEqual(orders);
  });

  it('closes the orders of jobs at once that are due and wait for a worker', async () => {
    await queue.add('close', { orderId: 'o-due' });
    await queue.add('close', { orderId: 'o-first' }, { priority: 1 });
    expect(await target.import(fromBullMq(queue))).toBe(2);
    await until(() => target.closed.length === 2);
    expect([...target.closed].sort()).toEqual(['o-due', 'o-first']);
  });
});
