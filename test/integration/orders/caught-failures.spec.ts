import { type EntityManager } from 'typeorm';
import { Client } from 'pg';
import { AbortedTransactionError, type Transaction } from '../../../src/public/transactions';
import { ownTransaction } from '../../../src/database';
import { type OrderEventType } from '../../../src/orders/model/transition';
import { fill, KEEPING, newOrder, openShop, type Shop, unmatchedOf } from './shop';

const ABORTED = 'ORDER_TIMEOUT/TRANSACTION_ABORTED';
const INSERT = `INSERT INTO journal VALUES ($1)`;

/** What a listener writes for an event. */
type Write = (tx: EntityManager, orderId: string) => Promise<unknown>;

const swallow: Write = (tx, orderId) => tx.query(INSERT, [orderId]).catch(() => undefined);

describe('a statement that failed in a listener, which caught its error', () => {
  let shop: Shop;
  let client: Client;
  let write: Write = swallow;

  beforeAll(async () => {
    shop = await openShop({ ...KEEPING, placedEvents: 'send' });
    await fill(shop, { apple: 1_000 });
    await shop.dataSource.query('CREATE TABLE journal (order_id text PRIMARY KEY)');
    client = new Client({ connectionString: shop.database.url });
    await client.connect();
    const types: OrderEventType[] = ['order.placed', 'order.cancelled', 'order.payment_late'];
    shop.listeners.join(types, async (events, tx) => {
      for (const { orderId } of events) await write(tx, String(orderId));
    });
  });
  beforeEach(() => {
    write = swallow;
  });
  afterAll(async () => {
    await client.end();
    await shop.database.drop();
  });

  const note = (id: string) => shop.dataSource.query(INSERT, [id]);
  const exists = async (id: string) => (await shop.readOrder.execute(id)) !== undefined;
  const place = async (id: string, tx?: Transaction) => {
    const [result] = await shop.place.execute([newOrder({ id })], { tx });
    return result?.outcome;
  };

  it('fails the report of money that would be forgotten, and keeps it once the listener is right', async () => {
    await note('nobody');
    const report = { orderId: 'nobody', provider: 'bank', reference: 'nobody-1', amount: 1_999, currency: 'EUR' };
    const failed = shop.markPaid.execute(report);
    await expect(failed).rejects.toBeInstanceOf(AbortedTransactionError);
    await expect(failed).rejects.toMatchObject({
      code: ABORTED,
      message: expect.stringContaining('duplicate key') as string,
    });
    expect(await unmatchedOf(shop, 'nobody')).toEqual([]);
    write = async (tx, orderId) => tx.query(`${INSERT} ON CONFLICT DO NOTHING`, [orderId]);
    expect(await shop.markPaid.execute(report)).toMatchObject({ outcome: 'unknown-order' });
    expect(await unmatchedOf(shop, 'nobody')).toMatchObject([{ reason: 'unknown-order' }]);
  });

  it('fails the placing of this order, and of no other one in its group', async () => {
    const ids = ['one', 'taken', 'two', 'three'];
    await note('taken');
    const results = await Promise.allSettled(ids.map((id) => place(id)));
    expect(results.map((result) => (result.status === 'fulfilled' ? result.value : 'failed'))).toEqual([
      'placed',
      'failed',
      'placed',
      'placed',
    ]);
    expect(await Promise.all(ids.map(exists))).toEqual([true, false, true, true]);
  });

  it('is no harm in a nested transaction of the listener', async () => {
    await note('nested');
    write = (tx, orderId) => tx.transaction((own) => own.query(INSERT, [orderId])).catch(() => undefined);
    expect(await place('nested')).toBe('placed');
    expect(await exists('nested')).toBe(true);
  });

  it('makes the transaction begin again if it was a conflict', async () => {
    let conflicts = 0;
    const conflict = `DO $$ BEGIN RAISE 'conflict' USING ERRCODE = 'deadlock_detected'; END $$`;
    write = async (tx) => (conflicts++ === 0 ? tx.query(conflict).catch(() => undefined) : undefined);
    expect(await place('conflicting')).toBe('placed');
    expect(await exists('conflicting')).toBe(true);
    expect(conflicts).toBe(2);
  });

  it.each(['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'] as const)(
    'fails the call in a transaction of the caller, which goes on (%s)',
    async (level) => {
      const [failing, placed, byClient, after] = ['a', 'b', 'c', 'd'].map((name) =>
        `${name} at ${level}`.replaceAll(' ', '_'),
      );
      const ids = [failing, placed, byClient, after] as [string, string, string, string];
      await note(ids[0]);
      await note(ids[2]);
      await shop.dataSource.transaction(level, async (tx) => {
        await expect(place(ids[0], tx)).rejects.toMatchObject({ code: ABORTED });
        expect(await place(ids[1], tx)).toBe('placed');
      });
      await client.query(`BEGIN ISOLATION LEVEL ${level}`);
      await expect(place(ids[2], client)).rejects.toMatchObject({ code: ABORTED });
      expect(await place(ids[3], client)).toBe('placed');
      await client.query('COMMIT');
      expect(await Promise.all(ids.map(exists))).toEqual([false, true, false, true]);
    },
  );

  it('is reported if the transaction of the caller was aborted before', async () => {
    await client.query('BEGIN');
    await client.query('SELECT 1 / 0').catch(() => undefined);
    await expect(place('too-late', client)).rejects.toMatchObject({ code: ABORTED });
    await client.query('ROLLBACK');
  });

  it.each(['COMMIT', 'ROLLBACK', 'BEGIN', '/* of\n a proxy */ COMMIT', '-- done\n ROLLBACK'])(
    'cannot be worked around by %j',
    async (statement) => {
      const id = `with-${statement.replaceAll(/\W/g, '-')}`;
      write = (tx) => tx.query(statement);
      await expect(place(id)).rejects.toThrow('only its owner may begin or end a transaction');
      await expect(shop.dataSource.transaction((tx) => place(id, tx))).rejects.toThrow('begin or end');
      expect(await exists(id)).toBe(false);
    },
  );
});

describe('a transaction of our own', () => {
  let shop: Shop;

  beforeAll(async () => {
    shop = await openShop(KEEPING);
    await fill(shop, { apple: 1_000 });
    await shop.dataSource.query('CREATE TABLE journal (order_id text PRIMARY KEY)');
  });
  afterAll(() => shop.database.drop());

  const stored = async (...ids: string[]) => {
    const sql = `SELECT id FROM order_timeout.orders WHERE id = ANY($1)
                 UNION ALL SELECT order_id FROM journal WHERE order_id = ANY($1)`;
    return (await shop.dataSource.query<unknown[]>(sql, [ids])).length;
  };
  /** What the next ones on the connections of the pool do. */
  const goOn = () =>
    Promise.all(Array.from({ length: 5 }, () => shop.dataSource.transaction((tx) => tx.query('SELECT 1'))));

  it('is not taken for committed while a call in it still runs', async () => {
    const order = newOrder();
    let call: Promise<unknown> = Promise.resolve();
    const work = ownTransaction(shop.dataSource, async (tx) => {
      await tx.query(INSERT, [order.id]);
      call = shop.place.execute([order], { tx });
      call.catch(() => undefined);
      await new Promise(setImmediate);
    });
    const outcome = await work.then(
      () => 2,
      () => 0,
    );
    await call.catch(() => undefined);
    await goOn();
    expect(await stored(order.id)).toBe(outcome);
  });

  it('is not taken for committed while a nested one still runs', async () => {
    let nested: Promise<unknown> = Promise.resolve();
    const work = ownTransaction(shop.dataSource, async (tx) => {
      await tx.query(INSERT, ['outer']);
      await new Promise<void>((resolve) => {
        nested = tx.transaction(async (own) => {
          resolve();
          await own.query(INSERT, ['nested']);
        });
        nested.catch(() => undefined);
      });
    });
    await expect(work).rejects.toThrow('a nested transaction still runs');
    await nested.catch(() => undefined);
    await goOn();
    expect(await stored('outer', 'nested')).toBe(0);
  });

  it('leaves nothing of what still runs in it when it fails', async () => {
    for (let count = 0; count < 15; count++) {
      const order = newOrder();
      let call: Promise<unknown> = Promise.resolve();
      const work = ownTransaction(shop.dataSource, async (tx) => {
        call = Promise.all([
          shop.place.execute([order], { tx }),
          tx.transaction((own) => own.query(INSERT, [order.id])),
        ]);
        call.catch(() => undefined);
        for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
        throw new Error('changed my mind');
      });
      await expect(work).rejects.toThrow('changed my mind');
      await call.catch(() => undefined);
      await goOn();
      expect({ count, stored: await stored(order.id) }).toEqual({ count, stored: 0 });
    }
  });
});

describe('a statement that a listener does not wait for, and that arrives while the call ends', () => {
  let shop: Shop;
  let client: Client;
  let transaction: EntityManager | undefined;
  let late: Promise<string> = Promise.resolve('not sent');

  beforeAll(async () => {
    shop = await openShop({ ...KEEPING, placedEvents: 'send' });
    await fill(shop, { apple: 1_000 });
    client = new Client({ connectionString: shop.database.url });
    await client.connect();
    shop.listeners.join(['order.placed', 'order.payment_late'], (_events, tx) => {
      transaction = tx;
    });
  });
  afterAll(async () => {
    await client.end();
    await shop.database.drop();
  });

  type Target = { query(...given: unknown[]): unknown };
  /** Sends the statement of the listener right behind the end of the call. */
  const sendBehind = (target: Target): void => {
    const send = target.query.bind(target);
    target.query = (...given) => {
      const answer = send(...given);
      if (transaction && String(given[0]).startsWith('RELEASE SAVEPOINT order_timeout_')) {
        const tx = transaction;
        transaction = undefined;
        late = tx.query('SELECT 1').then(
          () => 'sent',
          (error: Error) => error.message,
        );
      }
      return answer;
    };
  };
  const refused = 'await each statement in the listener';

  it('is refused, so that money that was reported as kept is kept', async () => {
    const report = { orderId: 'nobody', provider: 'bank', reference: 'late-1', amount: 1_999, currency: 'EUR' };
    const told = await shop.dataSource.transaction((tx) => {
      sendBehind(tx.queryRunner as unknown as Target);
      return shop.markPaid.execute(report, { tx });
    });
    expect([told.outcome, await late]).toEqual(['unknown-order', expect.stringContaining(refused)]);
    expect(await unmatchedOf(shop, 'nobody')).toMatchObject([{ reason: 'unknown-order' }]);
  });

  it('is refused, so that an order that was placed is there', async () => {
    const order = newOrder();
    sendBehind(client);
    await client.query('BEGIN');
    const [result] = await shop.place.execute([order], { tx: client });
    const { command } = await client.query('COMMIT');
    expect([result?.outcome, command, await late]).toEqual(['placed', 'COMMIT', expect.stringContaining(refused)]);
    expect(await shop.readOrder.execute(order.id)).toBeDefined();
  });
});
