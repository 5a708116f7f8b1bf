import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { OnOrderInTransaction, type OrderEvent } from '../../../src';
import { createDatabase, type TestDatabase } from '../../support/database';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { anOrder, type ListeningHost, startHost } from './listening-host';

/** Writes each event into a table of the host, and refuses what the test names. */
@Injectable()
class Journal {
  readonly batches: number[] = [];
  readonly refused = new Set<string>();
  /** Whose statement fails, and the error is caught. */
  readonly swallowed = new Set<string>();

  @OnOrderInTransaction(['closed', 'paid', 'cancelled', 'expiring', 'payment_late'])
  async write(events: OrderEvent<'closed' | 'paid' | 'cancelled' | 'expiring' | 'payment_late'>[], tx: EntityManager) {
    this.batches.push(events.length);
    const bad = events.find(({ orderId }) => orderId !== null && this.refused.has(orderId));
    await tx.query(`INSERT INTO journal SELECT * FROM unnest($1::text[], $2::text[])`, [
      events.map(({ orderId }) => orderId),
      events.map(({ type }) => type),
    ]);
    for (const { orderId } of events) {
      if (orderId !== null && this.swallowed.has(orderId)) await tx.query('SELECT 1 / 0').catch(() => undefined);
    }
    if (bad) throw new Error(`the journal refuses ${bad.orderId}`);
  }
}

describe('a listener in the transaction of the order', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let host: ListeningHost;
  let journal: Journal;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    await database.dataSource.query('CREATE TABLE journal (order_id text, type text)');
    host = await startHost(database, vhost, [Journal]);
    journal = host.app.get(Journal);
  });
  afterEach(() => journal.refused.clear());
  afterAll(async () => {
    await host.app.close();
    await Promise.all([database.drop(), vhost.drop()]);
  });

  const journalOf = async (...ids: string[]) => {
    const rows = await database.dataSource.query<{ type: string }[]>(
      'SELECT type FROM journal WHERE order_id = ANY($1) ORDER BY type',
      [ids],
    );
    return rows.map(({ type }) => type);
  };
  const eventsOf = async (id: string) => {
    const rows = await database.dataSource.query<{ type: string }[]>(
      `SELECT routing_key AS type FROM order_timeout.outbox WHERE body->>'orderId' = $1`,
      [id],
    );
    return rows.map(({ type }) => type);
  };
  const rollBack = (work: (tx: EntityManager) => Promise<unknown>) =>
    database.dataSource
      .transaction(async (tx) => {
        await work(tx);
        throw new Error('changed my mind');
      })
      .catch((error: Error) => error.message);

  it('writes with the report of a payment, a cancellation, a late payment, and a closing at the deadline', async () => {
    const [paid, cancelled, closed] = [
      await host.place(),
      await host.place(),
      await host.place({ paymentWindowMs: 50 }),
    ];
    await host.pay(paid);
    await host.orders.cancel({ orderId: cancelled });
    await host.pay(cancelled);
    await until(async () => (await host.statusOf(closed)) === 'CLOSED');
    expect(await journalOf(paid)).toEqual(['order.paid']);
    expect(await journalOf(cancelled)).toEqual(['order.cancelled', 'order.payment_late']);
    expect(await journalOf(closed)).toEqual(['order.closed']);
  });

  it('writes with a reminder, and with what an operator does', async () => {
    const reminded = await host.place({ reminderOffsetsMs: [3_599_900] });
    await until(async () => (await journalOf(reminded)).length > 0);
    await host.orders.close({ orderId: reminded, reason: 'test' }, { by: { actor: 'anna' } });
    expect(await journalOf(reminded)).toEqual(['order.closed', 'order.expiring']);
  });

  it('is undone with the transaction of the caller', async () => {
    const id = await host.place();
    expect(await rollBack((tx) => host.orders.cancel({ orderId: id }, { tx }))).toBe('changed my mind');
    expect([await host.statusOf(id), await journalOf(id)]).toEqual(['PENDING', []]);
  });

  it('undoes the change of the order if it throws, for a request and for a report of a payment', async () => {
    const [kept, unpaid] = [await host.place(), await host.place()];
    journal.refused.add(kept).add(unpaid);
    await expect(host.orders.cancel({ orderId: kept })).rejects.toThrow(`the journal refuses ${kept}`);
    await expect(host.pay(unpaid)).rejects.toThrow(`the journal refuses ${unpaid}`);
    expect([await host.statusOf(kept), await host.statusOf(unpaid)]).toEqual(['PENDING', 'PENDING']);
    expect([await journalOf(kept, unpaid), await eventsOf(kept), await eventsOf(unpaid)]).toEqual([[], [], []]);
  });

  it('stores nothing else', async () => {
    await host.orders.cancel({ orderId: await host.place() });
    expect(await host.deliveries()).toEqual([]);
  });

  it('gets a thousand closed orders in a few calls, and the bad order alone is not closed', async () => {
    const orders = Array.from({ length: 1_000 }, () => anOrder({ paymentWindowMs: 2_000 }));
    const [bad] = orders.map(({ id }) => id);
    if (bad) journal.refused.add(bad);
    await host.orders.placeMany(orders);
    journal.batches.length = 0;
    const ids = orders.map(({ id }) => id);
    await until(
      async () => (await journalOf(...ids)).length === 999 && host.settled.rows.some(({ due }) => due.key === bad),
    );
    expect(await host.statusOf(bad ?? '')).toBe('PENDING');
    expect(Math.max(...journal.batches)).toBeGreaterThanOrEqual(100);
    // 1000 / 200, and the batch of the bad order is halved until it stands alone.
    expect(journal.batches.length).toBeLessThan(60);
    journal.refused.clear();
    await until(async () => (await host.statusOf(bad ?? '')) === 'CLOSED');
  });

  it('fails at the deadline of one order whose statement failed, though it caught the error, and no other one', async () => {
    const orders = Array.from({ length: 20 }, () => anOrder({ paymentWindowMs: 500 }));
    const ids = orders.map(({ id }) => id);
    const [bad = ''] = ids;
    journal.swallowed.add(bad);
    await host.orders.placeMany(orders);
    const failed = () => host.settled.rows.find(({ due }) => due.key === bad)?.outcome;
    await until(async () => (await journalOf(...ids)).length === 19 && failed() !== undefined);
    expect(failed()).toMatchObject({ type: 'retry', reason: expect.stringContaining('TRANSACTION_ABORTED') as string });
    expect([await host.statusOf(bad), await eventsOf(bad)]).toEqual(['PENDING', []]);
    journal.swallowed.clear();
    await until(async () => (await host.statusOf(bad)) === 'CLOSED');
  });
});
