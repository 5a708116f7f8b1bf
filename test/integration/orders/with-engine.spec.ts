import { Test, type TestingModule } from '@nestjs/testing';
import { type EntityManager } from 'typeorm';
import { ORDER_PROVIDERS, Orders, ORDERS_OPTIONS } from '../../../src/orders';
import { Inventory } from '../../../src/inventory';
import { MarkPaid } from '../../../src/orders/pay/mark-paid';
import { PaymentObservers, PaymentProviders, type RefundOutcome } from '../../../src/payments';
import { TimeoutEngine, TimeoutObservers, TimeoutScheduler, TimeoutsModule } from '../../../src/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { Recorder, until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { FakeProvider } from './fake-provider';
import { newOrder, SCHEMA } from './shop';
import { stretched } from '../../support/machine-load';

describe('orders on the real engine, RabbitMQ and PostgreSQL', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let module: TestingModule;
  let provider: FakeProvider;
  const settled = new Recorder();

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    provider = new FakeProvider('fake', database.dataSource);
    module = await Test.createTestingModule({
      imports: [
        TimeoutsModule.forRoot({
          dataSource: database.dataSource,
          rabbit: { urls: [vhost.url], queueType: 'classic' },
          transport: 'ladder',
          ladder: { base: 8 },
          shutdownTimeoutMs: 3_000,
        }),
      ],
      providers: [
        ...ORDER_PROVIDERS,
        { provide: ORDERS_OPTIONS, useValue: { policies: { reminderOffsetsMs: [] } } },
        PaymentObservers,
        { provide: PaymentProviders, useValue: new PaymentProviders([provider]) },
      ],
    }).compile();
    module.get(TimeoutObservers).add({
      settled: (_kind, rows, nowMs) => settled.add(rows, nowMs),
    });
    await module.init();
    // Until the broker has answered, the sweep would handle the timeouts.
    await until(() => module.get(TimeoutEngine).isMessagePathUp);
    const inventory = module.get(Inventory);
    for (const sku of ['apple', 'cursed', 'held']) await inventory.setStock(database.dataSource.manager, sku, 1_000);
  });
  afterAll(async () => {
    await module.close();
    await Promise.all([database.drop(), vhost.drop()]);
  });

  const place = async (orders: ReturnType<typeof newOrder>[], tx?: EntityManager) => {
    const results = await module.get(Orders).placeMany(orders, tx && { tx });
    expect(results.every((result) => result.outcome === 'placed')).toBe(true);
    return orders.map((order) => order.id);
  };
  const statusOf = async (id: string) => (await module.get(Orders).get(id))?.status;
  const outcomesOf = (id: string) => settled.rows.filter((row) => row.due.key === id).map((row) => row.outcome.type);
  const done = (ids: readonly string[]) =>
    settled.until(() => ids.every((id) => outcomesOf(id).includes('done') || outcomesOf(id).includes('park')));

  it('closes unpaid orders by the wake-up, not before their deadline, and does not change the paid ones', async () => {
    const window = { paymentWindowMs: 700 };
    const ids = await place(Array.from({ length: 40 }, () => newOrder(window)));
    // In one transaction, so that its deadline cannot pass before.
    const paid = await database.dataSource.transaction(async (tx) => {
      const [orderId = ''] = await place([newOrder({ paymentWindowMs: 900 })], tx);
      const payment = { orderId, provider: 'fake', reference: 'quick', amount: 1_999, currency: 'EUR' };
      await module.get(Orders).markPaid(payment, { tx });
      return orderId;
    });
    await done(ids);
    const rows = await database.dataSource.query<{ status: string; early: boolean; cause: string }[]>(
      `SELECT o.status, o.closed_at < o.expires_at AS early, h.cause FROM ${SCHEMA}.orders o
         JOIN ${SCHEMA}.order_history h ON h.order_id = o.id AND h.version = o.version WHERE o.id = ANY($1)`,
      [ids],
    );
    expect(rows).toEqual(Array(40).fill({ status: 'CLOSED', early: false, cause: 'message' }));
    expect(await statusOf(paid)).toBe('PAID');
  });

  it('looks up payments through the engine, and retries if the provider was silent', async () => {
    let answers = 0;
    provider.answerQuery('flaky', () => {
      answers += 1;
      return answers === 1 ? { type: 'UNKNOWN', reason: 'connection refused' } : { type: 'CLOSED' };
    });
    const [id = ''] = await place([
      newOrder({ paymentWindowMs: 50, attempt: { provider: 'fake', reference: 'flaky' } }),
    ]);
    await done([id]);
    expect(outcomesOf(id)).toEqual(['look-up', 'retry', 'look-up', 'done']);
    expect((await module.get(Orders).history(id)).map((entry) => entry.to)).toEqual(['PENDING', 'CLOSING', 'CLOSED']);
  });

  it('begins the watch of payments anew after a last round that has closed an attempt', async () => {
    const attempt = { provider: 'fake', reference: 'opens-again' };
    const [id = ''] = await place([newOrder({ paymentWindowMs: 50, attempt })]);
    await until(async () => (await statusOf(id)) === 'CLOSED');
    provider.reopen('opens-again');
    const watch = { kind: 'order.late-watch', key: id };
    const payload = { since: new Date(Date.now() - 26 * 3_600_000).toISOString() };
    await module.get(TimeoutScheduler).schedule([{ ...watch, afterMs: 0, payload }]);
    const left = () => module.get(TimeoutScheduler).find(watch);
    await until(async () => (await left())?.payload['isAnew'] === true);
    expect((await left())?.dueAt.getTime()).toBeGreaterThan(Date.now() + 30_000);
  });

  it('handles a canceled order with an open attempt immediately, long before its deadline', async () => {
    const attempt = { provider: 'fake', reference: 'to-cancel' };
    const [id = ''] = await place([newOrder({ paymentWindowMs: 3_600_000, attempt })]);
    await module.get(Orders).cancel({ orderId: id });
    await done([id]);
    expect(await statusOf(id)).toBe('CANCELLED');
  });

  it('removes an order with corrupt stock from its batch, and closes the others', async () => {
    const cursed = newOrder({ paymentWindowMs: 600, lines: [{ sku: 'cursed', quantity: 1, unitAmount: 1 }] });
    const others = Array.from({ length: 20 }, () => newOrder({ paymentWindowMs: 600 }));
    const ids = await database.dataSource.transaction(async (tx) => {
      const placed = await place([...others.slice(0, 10), cursed, ...others.slice(10)], tx);
      // Releasing stock that is not reserved violates the counter's CHECK and fails the whole transaction.
      await tx.query(`UPDATE ${SCHEMA}.inventory SET reserved = 0 WHERE sku = 'cursed'`);
      return placed;
    });
    await done(ids.filter((id) => id !== cursed.id));
    await settled.until(() => outcomesOf(cursed.id).includes('retry'));
    expect(await statusOf(cursed.id)).toBe('PENDING');
    expect((await module.get(Orders).history(cursed.id)).map((entry) => entry.to)).toEqual(['PENDING']);
    await database.dataSource.query(`UPDATE ${SCHEMA}.inventory SET reserved = 1 WHERE sku = 'cursed'`);
    await done([cursed.id]);
    expect(await statusOf(cursed.id)).toBe('CLOSED');
  });

  it('applies the answer of the provider once locked stock is free', async () => {
    const lines = [{ sku: 'held', quantity: 1, unitAmount: 1_999 }];
    // The goods are locked before it passes.
    const window = { paymentWindowMs: stretched(1_000) };
    const attempt = (reference: string) => ({ lines, ...window, attempt: { provider: 'fake', reference } });
    const payment = { amount: 1_999n, currency: 'EUR', paidAt: new Date(), transactionId: 'held-1', evidence: {} };
    provider.answerQuery('held-paid', { type: 'PAID', ...payment });
    provider.answerQuery('held-closed', { type: 'CLOSED' });
    const holder = database.dataSource.createQueryRunner();
    const [paid = '', closed = ''] = await place([newOrder(attempt('held-paid')), newOrder(attempt('held-closed'))]);
    await holder.startTransaction();
    await holder.query(`SELECT 1 FROM ${SCHEMA}.inventory WHERE sku = 'held' FOR UPDATE`);
    const retries = (id: string) => outcomesOf(id).filter((type) => type === 'retry').length;
    await settled.until(() => retries(paid) >= 2 && retries(closed) >= 2);
    await holder.commitTransaction();
    await holder.release();
    await done([paid, closed]);
    expect([await statusOf(paid), await statusOf(closed)]).toEqual(['PAID', 'CLOSED']);
    const rows = settled.rows.filter(({ due }) => due.key === paid || due.key === closed);
    expect(rows.filter(({ due }) => due.attempts > 0)).toEqual([]);
  });

  it('makes an order PAID that was booked without its stock, whatever happens to its deadline', async () => {
    const lines = [{ sku: 'held', quantity: 1, unitAmount: 1_999 }];
    const ids = await place([1, 2].map(() => newOrder({ lines, paymentWindowMs: 3_600_000 })));
    const [extended = '', left = ''] = ids;
    const holder = database.dataSource.createQueryRunner();
    await holder.startTransaction();
    await holder.query(`SELECT 1 FROM ${SCHEMA}.inventory WHERE sku = 'held' FOR UPDATE`);
    for (const orderId of ids) {
      const payment = { orderId, provider: 'fake', reference: `booked-${orderId}`, amount: 1_999, currency: 'EUR' };
      expect(await module.get(Orders).markPaid(payment)).toMatchObject({ outcome: 'booked' });
    }
    await module.get(Orders).extendDeadline({ orderId: extended, byMs: 60_000 });
    await module.get(Orders).setAutoClose({ orderId: left, enabled: false });
    await holder.commitTransaction();
    await holder.release();
    await until(async () => (await Promise.all(ids.map(statusOf))).every((status) => status === 'PAID'));
  });

  it('leaves a failed refund to its provider while that is asked for it again, and to a person in between', async () => {
    const orders = module.get(Orders);
    const payment = { provider: 'fake', reference: 'going-back', amount: 1_999, currency: 'EUR' };
    const [orderId = ''] = await place([newOrder({ paymentWindowMs: 3_600_000 })]);
    await orders.cancel({ orderId });
    let respond: ((outcome: RefundOutcome) => void) | undefined;
    const refund = jest
      .spyOn(provider, 'refund')
      .mockResolvedValueOnce({ type: 'REJECTED', reason: 'balance too low' });
    refund.mockImplementationOnce(() => new Promise((resolve) => (respond = resolve)));
    await orders.markPaid({ orderId, ...payment });
    await database.dataSource.query(`UPDATE ${SCHEMA}.payment_attempt SET registered = true WHERE order_id = $1`, [
      orderId,
    ]);
    await module.get(MarkPaid).confirm({ orderId, ...payment }, { cause: 'notify' }, { account: null });
    await until(() => respond !== undefined);
    const row = (await orders.unmatched.list()).find(({ reference }) => reference === 'going-back');
    const settlement = { id: row?.id ?? '', reason: 'paid back by wire' };
    expect(row).toMatchObject({ reason: 'refund-failed', handling: 'kept' });
    expect(await orders.unmatched.settle(settlement)).toMatchObject({
      code: 'UNMATCHED_PAYMENT_HANDLED',
      handling: 'refunding',
    });
    respond?.({ type: 'REFUNDED', refundId: 'r-1', evidence: {} });
    await until(async () => (await statusOf(orderId)) === 'CLOSED_REFUNDED');
    expect(await orders.unmatched.get(settlement.id)).toMatchObject({ handling: 'refunding', resolvedAt: null });
  });

  it('returns an overdue order immediately, and closes it', async () => {
    const [id = ''] = await place([newOrder({ paymentWindowMs: 3_600_000 })]);
    await database.dataSource.query(`UPDATE ${SCHEMA}.orders SET expires_at = now() - interval '1 ms' WHERE id = $1`, [
      id,
    ]);
    await database.dataSource.query(
      `UPDATE ${SCHEMA}.timeout SET due_at = now(), next_attempt_at = now() WHERE kind = 'order.payment' AND key = $1`,
      [id],
    );
    expect(await module.get(Orders).get(id)).toMatchObject({ expired: true, payable: false });
    await until(async () => (await statusOf(id)) === 'CLOSED');
    const history = await module.get(Orders).history(id);
    expect(history.at(-1)).toMatchObject({ to: 'CLOSED', cause: 'passive' });
  });
});
