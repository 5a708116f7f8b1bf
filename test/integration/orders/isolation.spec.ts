import { type EntityManager } from 'typeorm';
import { until } from '../../support/engine';
import { dueOf, eventsOf, fill, KEEPING, newOrder, openShop, type Shop, stockOf } from './shop';

const HOUR = 3_600_000;
const LEVELS = ['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'] as const;
const STRICT = LEVELS.slice(1);
const attempt = (reference: string) => ({ provider: 'fake', reference });

/** Options of a pool whose database or role has another default. */
const defaulting = (level: string) => ({ options: `-c default_transaction_isolation=${level.replace(' ', '\\ ')}` });

type UseCase = (shop: Shop, id: string, tx?: EntityManager) => Promise<unknown>;

/** All use cases that decide about an order from its rows. */
const DECIDING: Record<string, UseCase> = {
  register: (shop, id, tx) => shop.register.execute({ orderId: id, ...attempt(`r-${id}`) }, { tx }),
  'mark paid': (shop, id, tx) =>
    shop.markPaid.execute({ orderId: id, ...attempt(`p-${id}`), amount: 1_999, currency: 'EUR' }, { tx }),
  cancel: (shop, id, tx) => shop.cancel.execute({ orderId: id }, { tx }),
  extend: (shop, id, tx) => shop.extend.execute({ orderId: id, byMs: 1_000 }, { tx }),
  'set auto-close': (shop, id, tx) => shop.setAutoClose.execute({ orderId: id, enabled: false }, { tx }),
  close: async (shop, id, tx) => tx && shop.closing.handleBatch([dueOf(id)], tx),
};

describe('isolation levels', () => {
  describe.each(LEVELS)('with a database that defaults to %s', (level) => {
    let shop: Shop;
    beforeAll(async () => {
      shop = await openShop({ ...KEEPING, reminderOffsetsMs: [] }, defaulting(level));
      await fill(shop, { apple: 1_000 });
    });
    afterAll(() => shop.database.drop());

    const placed = async (paymentWindowMs = HOUR): Promise<string> => {
      const order = newOrder({ paymentWindowMs });
      expect(await shop.place.execute([order])).toMatchObject([{ outcome: 'placed' }]);
      return order.id;
    };
    const waitsForLock = () =>
      until(async () => {
        const rows = await shop.dataSource.query<unknown[]>(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return rows.length > 0;
      });

    it.each(Object.entries(DECIDING).filter(([name]) => name !== 'close'))(
      'runs %s in its own transaction',
      async (_name, run) => {
        expect(await run(shop, await placed())).not.toMatchObject({ outcome: 'rejected' });
      },
    );

    it('keeps a canceled order CLOSING while an attempt that was registered during the cancellation is open', async () => {
      const id = await placed();
      let cancelling: Promise<unknown> | undefined;
      await shop.dataSource.transaction('READ COMMITTED', async (tx) => {
        await shop.register.execute({ orderId: id, ...attempt(`beside-${id}`) }, { tx });
        cancelling = shop.cancel.execute({ orderId: id });
        await waitsForLock();
      });
      expect(await cancelling).toMatchObject({ outcome: 'cancelling', order: { status: 'CLOSING' } });
    });
  });

  describe('of a host’s transaction', () => {
    let shop: Shop;
    beforeAll(async () => {
      shop = await openShop({ ...KEEPING, reminderOffsetsMs: [] });
      await fill(shop, { apple: 1_000 });
    });
    afterAll(() => shop.database.drop());

    const placed = async (): Promise<string> => {
      const order = newOrder({ paymentWindowMs: HOUR });
      await shop.place.execute([order]);
      return order.id;
    };

    it.each(Object.entries(DECIDING))('runs %s at READ COMMITTED', async (_name, run) => {
      const id = await placed();
      const result = await shop.dataSource.transaction('READ COMMITTED', (tx) => run(shop, id, tx));
      expect(result).not.toMatchObject({ outcome: 'rejected' });
    });

    describe.each(STRICT)('at %s', (level) => {
      it.each(Object.entries(DECIDING))('rejects %s, and says what to do', async (_name, run) => {
        const id = await placed();
        const [events, stock] = [await eventsOf(shop, id), await stockOf(shop, 'apple')];
        const refused = shop.dataSource.transaction(level, (tx) => run(shop, id, tx));
        await expect(refused).rejects.toMatchObject({
          code: 'ORDER_TIMEOUT/UNSUPPORTED_ISOLATION_LEVEL',
          message: expect.stringMatching(`${level}.*READ COMMITTED`) as string,
        });
        expect(await shop.readOrder.execute(id)).toMatchObject({ status: 'PENDING', version: 1, attempts: [] });
        expect([await eventsOf(shop, id), await stockOf(shop, 'apple')]).toEqual([events, stock]);
      });

      it.each(['cancel', 'close'])('never lets %s end an order whose attempt it cannot see', async (name) => {
        const isClose = name === 'close';
        const order = newOrder({ paymentWindowMs: isClose ? 400 : HOUR });
        await shop.place.execute([order]);
        const ended = shop.dataSource.transaction(level, async (tx) => {
          await tx.query('SELECT 1 FROM order_timeout.orders');
          await shop.register.execute({ orderId: order.id, ...attempt(`unseen-${order.id}`) });
          if (isClose) await tx.query('SELECT pg_sleep(0.4)');
          await DECIDING[name]?.(shop, order.id, tx);
        });
        await ended.catch(() => undefined);
        expect(await shop.readOrder.execute(order.id)).toMatchObject({
          status: 'PENDING',
          attempts: [{ status: 'OPEN' }],
        });
      });

      it('places orders and schedules timeouts, which decide nothing', async () => {
        const order = newOrder({ paymentWindowMs: HOUR, attempt: attempt(`placed-${level}`) });
        await shop.dataSource.transaction(level, async (tx) => {
          expect(await shop.place.execute([order], { tx })).toMatchObject([{ outcome: 'placed' }]);
          await shop.scheduler.schedule([{ kind: 'host.kind', key: order.id, afterMs: HOUR }], { tx });
        });
        expect(await shop.readOrder.execute(order.id)).toMatchObject({ status: 'PENDING' });
        expect(await shop.scheduler.find({ kind: 'host.kind', key: order.id })).toBeDefined();
      });
    });
  });
});
