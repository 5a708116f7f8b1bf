import { type DynamicModule, Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { type EntityManager } from 'typeorm';
import { Orders, OrderTimeoutModule } from '../../../src';
import { ORDER_PAYMENT, ORDER_REMINDER } from '../../../src/public/orders';
import {
  DONE,
  type DueTimeout,
  TimeoutHandler,
  type TimeoutHandlerSingle,
  TimeoutObservers,
  type TimeoutOutcome,
  TimeoutScheduler,
  TimeoutsModule,
} from '../../../src/public/timeouts';
import { OrderTimeoutTestKit, ScriptedPaymentProvider } from '../../../src/testing';
import { createDatabase, type TestDatabase } from '../../support/database';

const MINUTE_MS = 60_000;
/** Nothing listens there; the kit must not try. */
const rabbit = { urls: ['amqp://127.0.0.1:1'] };
const LINES = [{ sku: 'apple', quantity: 1, unitAmount: 5 }];

@Injectable()
@TimeoutHandler('parcel', { maxAttempts: 2 })
class Parcels implements TimeoutHandlerSingle {
  readonly seen: string[] = [];
  outcome: () => TimeoutOutcome = () => DONE;

  async handle(due: DueTimeout): Promise<TimeoutOutcome> {
    this.seen.push(due.key);
    return this.outcome();
  }
}

describe('the test kit', () => {
  let database: TestDatabase;
  let module: TestingModule;
  let kit: OrderTimeoutTestKit;
  let orders: Orders;
  let scheduler: TimeoutScheduler;
  let parcels: Parcels;

  beforeAll(async () => {
    database = await createDatabase();
    const { dataSource } = database;
    const policies = { paymentWindowMs: 30 * MINUTE_MS, reminderOffsetsMs: [10 * MINUTE_MS, 5 * MINUTE_MS] };
    const providers = [new ScriptedPaymentProvider('bank')];
    const builder = Test.createTestingModule({
      imports: [OrderTimeoutModule.forRoot({ dataSource, rabbit, transport: 'ladder', orders: policies, providers })],
      providers: [Parcels],
    });
    module = await OrderTimeoutTestKit.override(builder, { payments: ['card'] }).compile();
    module.useLogger(false);
    await module.init();
    kit = OrderTimeoutTestKit.from(module);
    orders = module.get(Orders);
    scheduler = module.get(TimeoutScheduler);
    parcels = module.get(Parcels);
  });

  beforeEach(async () => {
    await kit.clear();
    parcels.seen.length = 0;
    parcels.outcome = () => DONE;
  });

  afterAll(async () => {
    await module.close();
    await database.drop();
  });

  const place = (id: string, more: object = {}) => orders.place({ id, amount: 5, currency: 'EUR', lines: [], ...more });
  const statusOf = async (id: string): Promise<string | undefined> => (await orders.get(id))?.status;

  describe('advanceTime', () => {
    /** Every time of every row, by table and column, as milliseconds before now. */
    async function ages(): Promise<Map<string, number>> {
      const columns = await database.dataSource.query<{ name: string; column: string }[]>(
        `SELECT table_name AS name, column_name AS column FROM information_schema.columns
          WHERE table_schema = 'order_timeout' AND data_type = 'timestamp with time zone'
            AND table_name IN (SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE')`,
      );
      const found = new Map<string, number>();
      for (const { name, column } of columns) {
        const rows = await database.dataSource.query<{ age: number }[]>(
          `SELECT (extract(epoch FROM now() - ${column}) * 1000)::float8 AS age FROM order_timeout.${name}
            WHERE ${column} IS NOT NULL ORDER BY ${column}`,
        );
        rows.forEach(({ age }, index) => found.set(`${name}.${column} ${index}`, age));
      }
      return found;
    }

    it('makes everything in the tables older by the same time, history too, and leaves the clock alone', async () => {
      await database.dataSource.query(`INSERT INTO order_timeout.inventory VALUES ('apple', 5)`);
      await place('o-1', { idempotencyKey: 'k', lines: LINES, attempt: { provider: 'bank', reference: 'r' } });
      await orders.markPaid({ orderId: 'o-1', provider: 'bank', reference: 'r', amount: 5, currency: 'EUR' });
      await place('o-2');
      const beganAt = performance.now();
      const before = await ages();
      await kit.advanceTime(90_000);
      const after = await ages();
      const tookMs = performance.now() - beganAt;
      for (const name of [
        'orders.expires_at 0',
        'order_history.occurred_at 1',
        'timeout.due_at 0',
        'outbox.created_at 0',
      ]) {
        expect([...before.keys()]).toContain(name);
      }
      expect([...after.keys()]).toEqual([...before.keys()]);
      for (const [name, age] of after) {
        const olderMs = age - (before.get(name) ?? 0);
        const isExact = olderMs >= 90_000 - 1 && olderMs <= 90_000 + tookMs + 1;
        expect({ name, olderMs, isExact }).toMatchObject({ isExact: true });
      }
    });

    it('moves the start of a payment watch, which its look-ups count from', async () => {
      await place('o-1', { attempt: { provider: 'bank', reference: 'r' } });
      await orders.cancel({ orderId: 'o-1' });
      const startOf = async (): Promise<number> => {
        const [row] = await database.dataSource.query<{ since: string }[]>(
          `SELECT payload ->> 'since' AS since FROM order_timeout.timeout WHERE kind = 'order.late-watch'`,
        );
        return Date.parse(row?.since ?? '');
      };
      await kit.runDue();
      const before = await startOf();
      await kit.advanceTime(90_000);
      expect(await startOf()).toBe(before - 90_000);
    });

    it('keeps the history from being changed afterward', async () => {
      await place('o-1');
      await kit.advanceTime(1);
      const forging = database.dataSource.query(`UPDATE order_timeout.order_history SET to_status = 'PAID'`);
      await expect(forging).rejects.toThrow('append-only');
    });

    it('runs nothing, and neither does a read of an overdue order', async () => {
      await place('o-1');
      await kit.advanceTime(31 * MINUTE_MS);
      expect(await orders.get('o-1')).toMatchObject({ status: 'PENDING', expired: true, payable: false });
      expect(await statusOf('o-1')).toBe('PENDING');
      expect((await kit.runDue()).done).toBe(3);
      expect(await statusOf('o-1')).toBe('CLOSED');
    });

    it.each([-1, 0.5, NaN])('refuses %p', async (ms) => {
      await expect(kit.advanceTime(ms)).rejects.toMatchObject({ code: 'ORDER_TIMEOUT/TEST_KIT_USAGE' });
    });
  });

  describe('runDue', () => {
    it('counts outcomes, follows look-ups to their end, and runs what they make due', async () => {
      await place('paid', { attempt: { provider: 'bank', reference: 'r-1' } });
      await place('unpaid', { attempt: { provider: 'card', reference: 'r-2' } });
      kit.payments('bank').pay('r-1');
      parcels.outcome = () => ({ type: 'park', reason: 'lost' });
      await scheduler.schedule([{ kind: 'parcel', key: 'p', afterMs: 0 }]);
      await kit.advanceTime(30 * MINUTE_MS);
      const { done, park } = await kit.runDue();
      expect([await statusOf('paid'), await statusOf('unpaid')]).toEqual(['PAID', 'CLOSED']);
      expect({ done, park }).toEqual({ done: 6, park: 1 });
      expect(await kit.runDue()).toEqual({ done: 0, retry: 0, reschedule: 0, park: 0 });
    });

    it('runs the earliest first, whatever its kind', async () => {
      const seen: string[] = [];
      const observer = {
        settled: (kind: string, rows: readonly unknown[]) => void seen.push(`${kind} ${rows.length}`),
      };
      module.get(TimeoutObservers).add(observer);
      await place('o-1', { paymentWindowMs: 20 * MINUTE_MS });
      const parcel = { kind: 'parcel', afterMs: 12 * MINUTE_MS };
      await scheduler.schedule([{ ...parcel, key: 'between' }]);
      await kit.advanceTime(30 * MINUTE_MS);
      await kit.runDue();
      expect(seen).toEqual([`${ORDER_REMINDER} 1`, 'parcel 1', `${ORDER_REMINDER} 1`, `${ORDER_PAYMENT} 1`]);
    });

    it('leaves a retry for later, and parks the timeout when its attempts are used up', async () => {
      parcels.outcome = () => {
        throw new Error('the parcel is stuck');
      };
      await scheduler.schedule([{ kind: 'parcel', key: 'p', afterMs: 0 }]);
      expect(await kit.runDue()).toMatchObject({ retry: 1, park: 0 });
      expect(await kit.runFor(60 * MINUTE_MS)).toMatchObject({ retry: 0, park: 1 });
      expect(parcels.seen).toEqual(['p', 'p']);
    });

    it('says which timeout the transaction of a test keeps locked', async () => {
      await scheduler.schedule([{ kind: 'parcel', key: 'p', afterMs: 0 }]);
      await database.dataSource.transaction(async (tx: EntityManager) => {
        await tx.query(`SELECT 1 FROM order_timeout.timeout WHERE key = 'p' FOR UPDATE`);
        await expect(kit.runDue()).rejects.toThrow(/DUE_TIMEOUT_LOCKED: timeout "p" of "parcel"/);
      });
    });
  });

  describe('runFor', () => {
    it('runs each timeout at its own time', async () => {
      const lateMs: number[] = [];
      const observer = {
        settled: (kind: string, rows: readonly { due: DueTimeout }[], nowMs: number) =>
          void (kind === 'parcel' && lateMs.push(...rows.map(({ due }) => nowMs - due.dueAt.getTime()))),
      };
      module.get(TimeoutObservers).add(observer);
      const requests = [7, 3, 45].map((minutes) => ({
        kind: 'parcel',
        key: `p${minutes}`,
        afterMs: minutes * MINUTE_MS,
      }));
      await scheduler.schedule(requests);
      expect((await kit.runFor(30 * MINUTE_MS)).done).toBe(2);
      expect(parcels.seen).toEqual(['p3', 'p7']);
      for (const ms of lateMs) expect(ms).toBeLessThan(MINUTE_MS);
      expect((await kit.runFor(15 * MINUTE_MS)).done).toBe(1);
    });
  });

  describe('expire', () => {
    it('sends the reminders of the order on the way', async () => {
      await place('o-1');
      expect((await kit.expire('o-1')).status).toBe('CLOSED');
      expect(await kit.events.typesOf('o-1')).toEqual(['order.expiring', 'order.expiring', 'order.closed']);
    });

    it('also expires what is due before, and nothing that is due later', async () => {
      await place('before', { paymentWindowMs: 10 * MINUTE_MS });
      await place('o-1', { paymentWindowMs: 20 * MINUTE_MS });
      await place('after');
      await kit.expire('o-1');
      const ids = ['before', 'o-1', 'after'];
      expect(await Promise.all(ids.map(statusOf))).toEqual(['CLOSED', 'CLOSED', 'PENDING']);
    });

    it('refuses an order without a deadline', async () => {
      await place('o-1', { paymentWindowMs: 0 });
      await kit.runDue();
      await expect(kit.expire('o-1')).rejects.toThrow(/TEST_KIT_USAGE: no timeout "o-1" of "order.payment" is pending/);
    });
  });

  describe('events', () => {
    it('are those of committed transactions, as subscribers get them', async () => {
      await place('o-1');
      const rolledBack = database.dataSource.transaction(async (tx) => {
        await orders.cancel({ orderId: 'o-1', reason: 'a' }, { tx });
        throw new Error('rolled back');
      });
      await expect(rolledBack).rejects.toThrow('rolled back');
      expect(await kit.events.of('o-1')).toEqual([]);
      await place('o-2');
      await orders.cancel({ orderId: 'o-2', reason: 'of another order' });
      await orders.cancel({ orderId: 'o-1', reason: 'b' });
      expect(await kit.events.of('o-1')).toEqual([
        expect.objectContaining({ type: 'order.cancelled', orderId: 'o-1', amount: 5, orderVersion: 2 }),
      ]);
      expect(await kit.events.typesOf('o-1')).toEqual(['order.cancelled']);
    });
  });

  it('forgets everything with clear()', async () => {
    await place('o-1', { attempt: { provider: 'bank', reference: 'r' } });
    await kit.expire('o-1');
    await kit.clear();
    expect(await orders.get('o-1')).toBeUndefined();
    expect(await kit.events.all()).toEqual([]);
    expect(kit.payments('bank').calls).toEqual([]);
    expect(await kit.runFor(100 * MINUTE_MS)).toEqual({ done: 0, retry: 0, reschedule: 0, park: 0 });
  });

  it('lets payments be settled after clear()', async () => {
    await orders.markPaid({ orderId: 'nobody', provider: 'bank', reference: 'r', amount: 5, currency: 'EUR' });
    const [payment] = await orders.unmatched.list();
    const settled = await orders.unmatched.settle({ id: payment?.id ?? '', reason: 'paid back by wire' });
    expect(settled).toMatchObject({ outcome: 'settled' });
  });

  it('names the providers that there are', () => {
    expect(() => kit.payments('stripe')).toThrow(/"stripe" \(there are: bank, card\)/);
  });

  describe('elsewhere', () => {
    const building = (schema?: string) => {
      const ours = TimeoutsModule.forRoot({ dataSource: database.dataSource, rabbit, ...(schema && { schema }) });
      return Test.createTestingModule({ imports: [ours], providers: [Parcels] });
    };

    it('drives TimeoutsModule alone, too', async () => {
      const other = await OrderTimeoutTestKit.override(building()).compile();
      await other.init();
      await other.get(TimeoutScheduler).schedule([{ kind: 'parcel', key: 'p', afterMs: MINUTE_MS }]);
      await OrderTimeoutTestKit.from(other).runUntilDue({ kind: 'parcel', key: 'p' });
      expect(other.get(Parcels).seen).toEqual(['p']);
      await other.close();
    });

    it.each<[string, () => DynamicModule]>([
      ['OrderTimeoutModule.forRoot', () => OrderTimeoutModule.forRoot({ database: database.url, rabbit })],
      [
        'OrderTimeoutModule.forRootAsync',
        () => OrderTimeoutModule.forRootAsync({ useFactory: () => ({ database: { url: database.url }, rabbit }) }),
      ],
      ['TimeoutsModule.forRoot', () => TimeoutsModule.forRoot({ database: database.url, rabbit })],
      [
        'TimeoutsModule.forRootAsync',
        () => TimeoutsModule.forRootAsync({ useFactory: () => ({ database: database.url, rabbit }) }),
      ],
    ])('connects by the URL that %s is given, without a DataSource', async (_, ours) => {
      const builder = Test.createTestingModule({ imports: [ours()], providers: [Parcels] });
      const other = await OrderTimeoutTestKit.override(builder).compile();
      await other.init();
      await other.get(TimeoutScheduler).schedule([{ kind: 'parcel', key: 'u', afterMs: MINUTE_MS }]);
      await OrderTimeoutTestKit.from(other).runUntilDue({ kind: 'parcel', key: 'u' });
      expect(other.get(Parcels).seen).toEqual(['u']);
      await other.close();
    });

    it('refuses a module that it was not told of before', async () => {
      const other = await building().compile();
      expect(() => OrderTimeoutTestKit.from(other)).toThrow(/TEST_KIT_USAGE: call OrderTimeoutTestKit.override/);
    });

    it('refuses a database that an application has run on', async () => {
      const { dataSource } = database;
      await dataSource.query(
        `INSERT INTO order_timeout.engine_setting (name, value) VALUES ('message-path', 'ladder/1')`,
      );
      const other = await OrderTimeoutTestKit.override(building()).compile();
      await expect(other.init()).rejects.toMatchObject({ code: 'ORDER_TIMEOUT/NOT_A_TEST_DATABASE' });
      await dataSource.query(`DELETE FROM order_timeout.engine_setting WHERE name = 'message-path'`);
    });
  });
});
