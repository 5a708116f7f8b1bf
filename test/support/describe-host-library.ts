import { describeMistakes } from './describe-mistakes';
import { describeUnfinishedCalls } from './describe-unfinished-calls';
import { type HostLibrary, Undo } from './host-library';
import { type HostShop, REMINDER } from './host-shop';
import { until } from './engine';
import { useEveryMethod } from './use-every-method';

/** What an error says, and those that caused it. */
function sentencesOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const { driverError, cause } = error as { driverError?: unknown; cause?: unknown };
  return `${error.message} ${sentencesOf(driverError ?? cause)}`;
}

/** What must hold for one library. @param open connects it to a URL */
export function describeHostLibrary(
  name: string,
  open: (url: string) => Promise<HostLibrary> | HostLibrary,
  running: () => HostShop,
): void {
  describe(`a transaction of ${name}`, () => {
    let shop: HostShop;
    let library: HostLibrary;

    beforeAll(async () => {
      shop = running();
      library = await open(shop.database.url);
    });
    afterAll(() => library.close());

    const undone = (work: Parameters<HostLibrary['run']>[0]) =>
      library.run(async (host) => {
        await work(host);
        throw new Undo();
      });

    it('has its orders and timeouts if it commits, and messages bring them at their deadlines', async () => {
      const order = shop.newOrder({ paymentWindowMs: 1_500 });
      await library.run(async ({ tx, note }) => {
        await note(order.id);
        expect(await shop.orders.place(order, { tx })).toMatchObject({ outcome: 'placed' });
        await shop.scheduler.schedule([{ kind: REMINDER, key: order.id, afterMs: 800 }], { tx });
        expect(await shop.orders.get(order.id)).toBeUndefined();
      });
      expect(await shop.count('host_note', 'text', order.id)).toBe(1);
      expect(await shop.count('order_timeout.orders', 'id', order.id)).toBe(1);
      await shop.settled.until((rows) => rows.filter(({ due }) => due.key === order.id).length === 2);
      expect(await shop.orders.history(order.id)).toMatchObject([
        { to: 'PENDING', cause: 'api' },
        { to: 'CLOSED', cause: 'message' },
      ]);
      const brought = shop.settled.rows.filter(({ due }) => due.key === order.id);
      expect(brought.map(({ due }) => due.cause)).toEqual(['message', 'message']);
    });

    it('leaves nothing if it is rolled back', async () => {
      const order = shop.newOrder();
      const before = await shop.inventory.read(shop.database.dataSource.manager, ['apple']);
      const work = undone(async ({ tx, note }) => {
        await note(order.id);
        expect(await shop.orders.place(order, { tx })).toMatchObject({ outcome: 'placed' });
        await shop.scheduler.schedule([{ kind: REMINDER, key: order.id, afterMs: 1_000 }], { tx });
        expect(await shop.inventory.read(tx, ['apple'])).not.toEqual(before);
      });
      await expect(work).rejects.toThrow(Undo);
      expect(await shop.count('host_note', 'text', order.id)).toBe(0);
      expect(await shop.orders.get(order.id)).toBeUndefined();
      expect(await shop.count('order_timeout.timeout', 'key', order.id)).toBe(0);
      expect(await shop.count('order_timeout.outbox', `body->>'key'`, order.id)).toBe(0);
      expect(await shop.inventory.read(shop.database.dataSource.manager, ['apple'])).toEqual(before);
    });

    it('can be rolled back in part, with what was placed in this part', async () => {
      const [dropped, kept, outer] = [shop.newOrder(), shop.newOrder(), shop.newOrder()];
      await library.run(async (host) => {
        const undo = host.nest(async ({ tx }) => {
          expect(await shop.orders.place(dropped, { tx })).toMatchObject({ outcome: 'placed' });
          throw new Undo();
        });
        await expect(undo).rejects.toThrow(Undo);
        await host.nest(({ tx }) => shop.orders.place(kept, { tx }));
        await shop.orders.place(outer, { tx: host.tx });
      });
      expect(await shop.orders.get(dropped.id)).toBeUndefined();
      expect(await shop.orders.get(kept.id)).toMatchObject({ status: 'PENDING' });
      expect(await shop.orders.get(outer.id)).toMatchObject({ status: 'PENDING' });
    });

    it('waits for one that takes the last piece, and then gets none', async () => {
      const sku = shop.newOrder().id;
      await shop.inventory.setStock(shop.database.dataSource.manager, sku, 1);
      const lastPiece = () => shop.newOrder({ lines: [{ sku, quantity: 1, unitAmount: 1 }] });
      const place: Parameters<HostLibrary['run']>[0] = ({ tx }) => shop.orders.place(lastPiece(), { tx });
      let second: Promise<unknown> = Promise.resolve();
      await library.run(async (host) => {
        expect(await place(host)).toMatchObject({ outcome: 'placed' });
        second = library.run(place);
        await until(async () => (await shop.waitingSessions()) > 0);
      });
      expect(await second).toMatchObject({ outcome: 'rejected', code: 'OUT_OF_STOCK' });
    });

    it('may be given to several calls at once, of which one may be refused', async () => {
      const [first, last] = [shop.newOrder(), shop.newOrder()];
      const refused = shop.newOrder({ lines: [{ sku: 'apple', quantity: 100_000, unitAmount: 1 }] });
      const results = await library.run(({ tx }) =>
        Promise.all([first, refused, last].map((order) => shop.orders.place(order, { tx }))),
      );
      expect(results.map(({ outcome }) => outcome)).toEqual(['placed', 'rejected', 'placed']);
      for (const { id } of [first, last]) expect(await shop.orders.get(id)).toMatchObject({ status: 'PENDING' });
      expect(await shop.orders.get(refused.id)).toBeUndefined();
    });

    it('stores every value as it is, and reads it as it was written', async () => {
      const odd = `it's "50 %" {a,b} \\ ? ?? $1 :name ☃`;
      const order = shop.newOrder({
        amount: BigInt(Number.MAX_SAFE_INTEGER),
        metadata: { [odd]: odd, nested: [null, 1.5, true, { list: [] }] },
        lines: [{ sku: odd, quantity: 2, unitAmount: 5_000_000_000n }],
      });
      const placed = await library.run(async ({ tx }) => {
        await shop.inventory.setStock(tx, odd, 2);
        const result = await shop.orders.place(order, { tx });
        await shop.orders.extendDeadline({ orderId: order.id, byMs: 60_000 }, { tx });
        return result;
      });
      const expected = {
        amount: Number.MAX_SAFE_INTEGER,
        metadata: order.metadata,
        lines: [{ sku: odd, quantity: 2, unitAmount: 5_000_000_000 }],
      };
      const stored = await shop.orders.get(order.id);
      expect(stored).toMatchObject(expected);
      const expiresAt = new Date((stored?.expiresAt.getTime() ?? 0) - 60_000);
      expect(placed).toMatchObject({ outcome: 'placed', order: { ...expected, expiresAt } });
      await shop.orders.cancel({ orderId: order.id });
    });

    it('has what listeners write in it if it commits, and tells the others then', async () => {
      const [kept, undoneId] = [shop.newOrder(), shop.newOrder()].map(({ id }) => id) as [string, string];
      for (const id of [kept, undoneId]) await shop.orders.place(shop.newOrder({ id }));
      await library.run(({ tx }) => shop.orders.cancel({ orderId: kept }, { tx }));
      await expect(undone(({ tx }) => shop.orders.cancel({ orderId: undoneId }, { tx }))).rejects.toThrow(Undo);
      expect(await shop.count('host_note', 'text', `canceled ${kept}`)).toBe(1);
      expect(await shop.count('host_note', 'text', `canceled ${undoneId}`)).toBe(0);
      await until(() => shop.heard.includes(kept));
      expect(await shop.count('order_timeout.timeout', `payload->>'orderId'`, undoneId)).toBe(0);
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

    it('can go on after a statement of the product has failed, or is rolled back as a whole', async () => {
      const [stuck, noted] = [shop.newOrder(), shop.newOrder().id];
      const holder = shop.database.dataSource.createQueryRunner();
      await holder.startTransaction();
      await shop.inventory.addStock(holder.manager, 'apple', 1);
      const run = library.run(async ({ tx, note }) => {
        await tx.query(`SET LOCAL lock_timeout = '50ms'`);
        const failed = shop.orders.place(stuck, { tx }).catch((error: unknown) => sentencesOf(error));
        expect(await failed).toContain('lock timeout');
        await note(noted);
      });
      const failure = await run.then(() => '', sentencesOf);
      await holder.rollbackTransaction();
      await holder.release();
      expect(failure).toContain(library.rollsBackFailures ? 'lock timeout' : '');
      expect(await shop.count('host_note', 'text', noted)).toBe(library.rollsBackFailures ? 0 : 1);
      expect(await shop.orders.get(stuck.id)).toBeUndefined();
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

    describeMistakes(open, () => ({ shop, library }));
    describeUnfinishedCalls(() => ({ shop, library }));
  });
}
