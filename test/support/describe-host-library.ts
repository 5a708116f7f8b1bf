import { type HostLibrary } from './host-library';
import { type HostShop, openHostShop, REMINDER } from './host-shop';
import { useEveryMethod } from './use-every-method';

/** Thrown by a host that does not want its transaction. */
class Undo extends Error {}

/** What an error says, and those that caused it. */
function sentencesOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const { driverError, cause } = error as { driverError?: unknown; cause?: unknown };
  return `${error.message} ${sentencesOf(driverError ?? cause)}`;
}

/** What must hold for a library whose transactions are passed as `tx`. @param open connects the library to a URL */
export function describeHostLibrary(name: string, open: (url: string) => Promise<HostLibrary> | HostLibrary): void {
  describe(`a transaction of ${name}`, () => {
    let shop: HostShop;
    let library: HostLibrary;

    beforeAll(async () => {
      shop = await openHostShop();
      library = await open(shop.database.url);
    });
    afterAll(async () => {
      await library.close();
      await shop.close();
    });

    const undone = (work: Parameters<HostLibrary['run']>[0]) =>
      library.run(async (host) => {
        await work(host);
        throw new Undo();
      });

    it('has an order if it commits, which a message closes at its deadline', async () => {
      const order = shop.newOrder({ paymentWindowMs: 1_500 });
      await library.run(async ({ tx, note }) => {
        await note(order.id);
        expect(await shop.orders.place(order, { tx })).toMatchObject({ outcome: 'placed' });
        expect(await shop.orders.get(order.id)).toBeUndefined();
      });
      expect(await shop.count('host_note', 'text', order.id)).toBe(1);
      expect(await shop.orders.get(order.id)).toMatchObject({ id: order.id, status: 'PENDING' });
      await shop.settled.until((rows) => rows.some(({ due }) => due.key === order.id));
      expect(await shop.orders.history(order.id)).toMatchObject([
        { to: 'PENDING', cause: 'api' },
        { to: 'CLOSED', cause: 'message' },
      ]);
    });

    it('leaves nothing if it is rolled back', async () => {
      const order = shop.newOrder();
      const before = await shop.inventory.read(shop.database.dataSource.manager, ['apple']);
      const work = undone(async ({ tx, note }) => {
        await note(order.id);
        expect(await shop.orders.place(order, { tx })).toMatchObject({ outcome: 'placed' });
        expect(await shop.inventory.read(tx, ['apple'])).not.toEqual(before);
      });
      await expect(work).rejects.toThrow(Undo);
      expect(await shop.count('host_note', 'text', order.id)).toBe(0);
      expect(await shop.orders.get(order.id)).toBeUndefined();
      expect(await shop.count('order_timeout.timeout', 'key', order.id)).toBe(0);
      expect(await shop.count('order_timeout.outbox', `body->>'key'`, order.id)).toBe(0);
      expect(await shop.inventory.read(shop.database.dataSource.manager, ['apple'])).toEqual(before);
    });

    it('can go on, and commit, after an order was out of stock', async () => {
      const lines = [{ sku: 'apple', quantity: 100_000, unitAmount: 1 }];
      const [refused, placed] = [shop.newOrder({ lines }), shop.newOrder()];
      await library.run(async ({ tx, note }) => {
        expect(await shop.orders.place(refused, { tx })).toMatchObject({ outcome: 'rejected', code: 'OUT_OF_STOCK' });
        await note(refused.id);
        expect(await shop.orders.place(placed, { tx })).toMatchObject({ outcome: 'placed' });
      });
      expect(await shop.count('host_note', 'text', refused.id)).toBe(1);
      expect(await shop.orders.get(refused.id)).toBeUndefined();
      expect(await shop.orders.get(placed.id)).toMatchObject({ status: 'PENDING' });
    });

    it('can go on, and commit, after a statement of the product has failed', async () => {
      const [stuck, noted] = [shop.newOrder(), shop.newOrder().id];
      const holder = shop.database.dataSource.createQueryRunner();
      await holder.startTransaction();
      await shop.inventory.addStock(holder.manager, 'apple', 1);
      try {
        await library.run(async ({ tx, note }) => {
          await tx.query(`SET LOCAL lock_timeout = '50ms'`);
          const failed = shop.orders.place(stuck, { tx }).catch((error: unknown) => sentencesOf(error));
          expect(await failed).toContain('lock timeout');
          await note(noted);
        });
      } finally {
        await holder.rollbackTransaction();
        await holder.release();
      }
      expect(await shop.count('host_note', 'text', noted)).toBe(1);
      expect(await shop.orders.get(stuck.id)).toBeUndefined();
    });

    it('has timeouts of any kind if it commits, which a message brings', async () => {
      const [kept, undoneKey] = [shop.newOrder().id, shop.newOrder().id];
      const at = (key: string) => [{ kind: REMINDER, key, afterMs: 1_000 }];
      await library.run(({ tx }) => shop.scheduler.schedule(at(kept), { tx }));
      await expect(undone(({ tx }) => shop.scheduler.schedule(at(undoneKey), { tx }))).rejects.toThrow(Undo);
      const [row] = await shop.settled.until((rows) => rows.some(({ due }) => due.key === kept));
      expect(row).toBeDefined();
      expect(shop.settled.rows.find(({ due }) => due.key === kept)).toMatchObject({ due: { cause: 'message' } });
      expect(await shop.count('order_timeout.timeout', 'key', undoneKey)).toBe(0);
    });

    it('gives the same answers as one of TypeORM, from every method', async () => {
      const expected = await shop.database.dataSource.transaction('READ COMMITTED', (tx) => useEveryMethod(shop, tx));
      expect(JSON.stringify(expected)).not.toContain('invalid');
      expect(await library.run(({ tx }) => useEveryMethod(shop, tx))).toEqual(expected);
    });

    it('is refused where a decision could miss what others have committed', async () => {
      const order = shop.newOrder();
      await shop.orders.place(order);
      const canceled = library.run(({ tx }) => shop.orders.cancel({ orderId: order.id }, { tx }), 'REPEATABLE READ');
      await expect(canceled).rejects.toMatchObject({
        code: 'ORDER_TIMEOUT/UNSUPPORTED_ISOLATION_LEVEL',
        message: expect.stringContaining('READ COMMITTED') as string,
      });
      expect(await shop.orders.get(order.id)).toMatchObject({ status: 'PENDING' });
    });

    it('is told apart from what commits each statement by itself', async () => {
      const order = shop.newOrder();
      const placed = async () => shop.orders.place(order, { tx: library.outside() });
      await expect(placed()).rejects.toMatchObject({ code: 'ORDER_TIMEOUT/UNUSABLE_TRANSACTION' });
      expect(await shop.orders.get(order.id)).toBeUndefined();
    });
  });
}
