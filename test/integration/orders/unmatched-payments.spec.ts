import { randomUUID } from 'node:crypto';
import { refundNumber } from '../../../src/orders/model/unmatched-money';
import { ANNA, openDesk, type OperatorDesk } from './operator-desk';
import { SCHEMA, settleUntilDone, stockOf } from './shop';

describe('unmatched payments', () => {
  let desk: OperatorDesk;
  beforeAll(async () => {
    desk = await openDesk();
  });
  afterAll(() => desk.shop.database.drop());

  const settle = (id: string, by = ANNA) =>
    desk.shop.settleUnmatched.execute({ id, reason: 'paid back by wire' }, { by });
  const assign = (id: string, orderId: string) =>
    desk.shop.assign.execute({ id, orderId, reason: 'the buyer sent a receipt' }, { by: ANNA });
  const keptLate = async (reference: string): Promise<string> => {
    const orderId = await desk.closed({ merchantId: 'keeper' });
    await desk.confirm(orderId, reference);
    return orderId;
  };

  describe('the list', () => {
    it('has the waiting payments, in pages, and on request only those of some merchants', async () => {
      const orderId = await keptLate('listed-late');
      const id = await desk.unmatched('listed-unknown');
      const all = await desk.shop.unmatched.list();
      expect(all.map(({ reference }) => reference).sort()).toEqual(['listed-late', 'listed-unknown']);
      expect(all.find((row) => row.id === id)).toMatchObject({ orderId: null, source: 'provider', amount: 1_999 });
      const [first] = await desk.shop.unmatched.list({ limit: 1 });
      const [second] = await desk.shop.unmatched.list({ limit: 1, after: first?.id ?? '' });
      expect([first?.id, second?.id]).toEqual(all.map((row) => row.id));
      const ofKeeper = await desk.shop.unmatched.list({ merchants: ['keeper'] });
      expect(ofKeeper).toMatchObject([{ reference: 'listed-late', orderId, reason: 'late', handling: 'kept' }]);
      expect(await desk.shop.unmatched.list({ merchants: ['other'] })).toEqual([]);
      expect(await desk.shop.unmatched.get(id, { merchants: ['keeper'] })).toBeUndefined();
    });

    it('uses their index', async () => {
      const plan = await desk.shop.dataSource.transaction(async (tx) => {
        await tx.query('SET LOCAL enable_seqscan = off');
        return tx.query<object[]>(`
          EXPLAIN SELECT count(*) FROM ${SCHEMA}.unmatched_payment
           WHERE handling IN ('kept', 'waiting') AND handling = 'kept'`);
      });
      expect(JSON.stringify(plan)).toContain('unmatched_payment_open');
    });
  });

  describe('settling', () => {
    it('what an order has got by a report meanwhile tells a person, and the order keeps it', async () => {
      const id = await desk.unmatched('paid-meanwhile');
      const orderId = await desk.placed();
      const report = { orderId, ...desk.attempt('another-name'), amount: 1_999, currency: 'EUR' };
      await desk.shop.markPaid.execute({ ...report, transactionId: 't-paid-meanwhile' });
      expect(await settle(id)).toMatchObject({ outcome: 'settled' });
      expect(await desk.openOf('another-name')).toMatchObject([{ reason: 'attempt-mismatch', orderId, amount: 1_999 }]);
      expect(await desk.statusOf(orderId)).toBe('PAID');
    });

    it('clears the alert, once, and records who and why in the history of the order', async () => {
      const orderId = await keptLate('settled-late');
      const before = await desk.shop.unmatched.countKept();
      const [row] = await desk.openOf('settled-late');
      expect(await settle(row?.id ?? '')).toMatchObject({
        outcome: 'settled',
        payment: { handling: 'settled', resolvedBy: 'anna', resolution: 'paid back by wire' },
      });
      expect(await desk.shop.unmatched.countKept()).toBe(before - 1);
      expect(await desk.openOf('settled-late')).toEqual([]);
      const entry = { cause: 'operator', actor: 'anna', reason: 'paid back by wire', to: 'CLOSED' };
      expect(await desk.lastOf(orderId)).toMatchObject({
        ...entry,
        evidence: { unmatchedPayment: { id: row?.id, reference: 'settled-late', amount: 1_999 } },
      });
      const length = (await desk.shop.history.execute(orderId)).length;
      expect(await settle(row?.id ?? '')).toMatchObject({ outcome: 'settled' });
      expect(await desk.shop.history.execute(orderId)).toHaveLength(length);
    });

    it('by two operators at the same time is done once', async () => {
      const orderId = await keptLate('settled-twice');
      const [row] = await desk.openOf('settled-twice');
      const results = await Promise.all([settle(row?.id ?? ''), settle(row?.id ?? '', { cause: 'api', actor: 'ben' })]);
      expect(results.map(({ outcome }) => outcome)).toEqual(['settled', 'settled']);
      const entries = (await desk.shop.history.execute(orderId)).filter(({ reason }) => reason === 'paid back by wire');
      expect(entries).toHaveLength(1);
    });

    it('works for money without an order, and in a transaction of the caller', async () => {
      const id = await desk.unmatched('settled-unknown');
      await desk.shop.dataSource.transaction((tx) =>
        desk.shop.settleUnmatched.execute({ id, reason: 'ours to keep' }, { by: ANNA, tx }),
      );
      expect(await desk.rowsOf('settled-unknown')).toEqual(['unknown-order settled']);
    });

    it('is rejected for a payment that does not wait, for an unknown one, and for an invalid id', async () => {
      const orderId = await desk.closed();
      await desk.confirm(orderId, 'revived-already');
      const [row] = await desk.shop.dataSource.query<{ id: string }[]>(
        `SELECT id FROM ${SCHEMA}.unmatched_payment WHERE reference = 'revived-already'`,
      );
      expect(await settle(row?.id ?? '')).toMatchObject({ code: 'UNMATCHED_PAYMENT_HANDLED', handling: 'revived' });
      expect(await settle(randomUUID())).toMatchObject({ code: 'UNMATCHED_PAYMENT_NOT_FOUND' });
      expect(() => settle('no-uuid')).toThrow(/the id of an unmatched payment/);
    });
  });

  describe('assigning', () => {
    it('pays the order, counts as a registration, and keeps the source', async () => {
      const orderId = await desk.placed();
      const before = await stockOf(desk.shop, 'apple');
      const id = await desk.unmatched('assigned');
      expect(await assign(id, orderId)).toMatchObject({
        outcome: 'assigned',
        booked: 'paid',
        order: { status: 'PAID', attempts: [{ reference: 'assigned', status: 'PAID' }] },
      });
      expect(await stockOf(desk.shop, 'apple')).toEqual({ onHand: before.onHand - 1, reserved: before.reserved - 1 });
      expect(await desk.rowsOf('assigned')).toEqual(['unknown-order adopted']);
      const [attempt] = await desk.shop.dataSource.query<object[]>(
        `SELECT registered, paid_source, transaction_id FROM ${SCHEMA}.payment_attempt WHERE reference = 'assigned'`,
      );
      expect(attempt).toEqual({ registered: true, paid_source: 'provider', transaction_id: 't-assigned' });
      const reasons = (await desk.shop.history.execute(orderId)).map(({ cause, reason }) => `${cause} ${reason}`);
      expect(reasons.slice(1)).toEqual(['operator the buyer sent a receipt', 'operator reported']);
      expect(await assign(id, orderId)).toMatchObject({ outcome: 'already-assigned' });
    });

    it('of money for a closed order follows the policy, including automatic refunds', async () => {
      const lines = [{ sku: 'rare', quantity: 1, unitAmount: 1_999 }];
      const orderId = await desk.closed({ lines });
      await desk.placed({ lines });
      expect(await assign(await desk.unmatched('assigned-late'), orderId)).toMatchObject({ booked: 'late' });
      expect(await desk.statusOf(orderId)).toBe('REFUNDING');
      expect(await desk.attemptsOf(orderId)).toEqual(['assigned-late REFUNDING']);
    });

    it('of a reported payment stays a report, which is looked up before it is refunded', async () => {
      const [first, second] = [await desk.placed({ attempt: desk.attempt('mine') }), await desk.placed()];
      await desk.report(second, 'mine');
      const [row] = await desk.openOf('mine');
      expect(row).toMatchObject({ reason: 'attempt-mismatch', source: 'report', orderId: second });
      expect(await assign(row?.id ?? '', first)).toMatchObject({ outcome: 'assigned', booked: 'paid' });
      const [attempt] = await desk.shop.dataSource.query<object[]>(
        `SELECT order_id, paid_source FROM ${SCHEMA}.payment_attempt WHERE reference = 'mine'`,
      );
      expect(attempt).toEqual({ order_id: first, paid_source: 'report' });
    });

    it('to two orders at the same time books it on one of them', async () => {
      const orders = [await desk.placed(), await desk.placed()];
      const id = await desk.unmatched('wanted-twice');
      const results = await Promise.all(orders.map((orderId) => assign(id, orderId)));
      expect(results.map(({ outcome }) => outcome).sort()).toEqual(['assigned', 'rejected']);
      expect(results.find(({ outcome }) => outcome === 'rejected')).toMatchObject({
        code: 'UNMATCHED_PAYMENT_HANDLED',
      });
      const statuses = await Promise.all(orders.map(desk.statusOf));
      expect(statuses.sort()).toEqual(['PAID', 'PENDING']);
    });

    it('is rejected if another order counts on the same payment, under any name', async () => {
      const owner = await desk.placed({ attempt: desk.attempt('session') });
      await desk.confirm(owner, 'session');
      const other = await desk.placed();
      expect(await assign(await desk.unmatched('t-session'), other)).toEqual({
        outcome: 'rejected',
        code: 'PAYMENT_TAKEN',
      });
      expect(await desk.statusOf(other)).toBe('PENDING');
      expect(await desk.rowsOf('t-session')).toEqual(['unknown-order kept']);
    });

    it('is rejected for another currency, another amount of the same payment, and money that has an order', async () => {
      const orderId = await desk.placed();
      const dollars = await desk.unmatched('dollars', 1_999, 'USD');
      expect(await assign(dollars, orderId)).toMatchObject({ code: 'PAYMENT_NOT_BOOKABLE', currency: 'USD' });
      await desk.report(orderId, 'disputed', 1_000);
      await desk.report(orderId, 'disputed', 1_500);
      const [row] = (await desk.openOf('disputed')).filter(({ reason }) => reason === 'attempt-mismatch');
      expect(await assign(row?.id ?? '', orderId)).toMatchObject({ code: 'PAYMENT_DISPUTED', paidAmount: 1_000 });
      await keptLate('has-order');
      const [late] = await desk.openOf('has-order');
      expect(await assign(late?.id ?? '', orderId)).toMatchObject({ code: 'UNMATCHED_PAYMENT_HAS_ORDER' });
      expect(await assign(randomUUID(), orderId)).toMatchObject({ code: 'UNMATCHED_PAYMENT_NOT_FOUND' });
      expect(await assign(dollars, 'nowhere')).toMatchObject({ code: 'ORDER_NOT_FOUND' });
      expect(await desk.statusOf(orderId)).toBe('PENDING');
    });

    it('of too little waits for the rest like any payment, and is refunded at the deadline', async () => {
      const orderId = await desk.placed();
      const id = await desk.unmatched('assigned-half', 1_000);
      expect(await assign(id, orderId)).toMatchObject({ booked: 'amount-mismatch', order: { status: 'PENDING' } });
      await desk.expire(orderId);
      await settleUntilDone(desk.shop, [orderId]);
      expect(await desk.statusOf(orderId)).toBe('REFUNDING');
      const number = refundNumber({ provider: 'fake', reference: 'assigned-half' });
      const refunds = await desk.shop.dataSource.query<object[]>(
        `SELECT reason FROM ${SCHEMA}.refund WHERE number = $1`,
        [number],
      );
      expect(refunds).toEqual([{ reason: 'partial' }]);
    });
  });

  describe('reported for several orders that are not known', () => {
    const eventsAbout = async (reference: string): Promise<string[]> =>
      (
        await desk.shop.dataSource.query<{ text: string }[]>(
          `SELECT body->>'orderId' || ' ' || (body->>'amount') AS text FROM ${SCHEMA}.outbox
            WHERE routing_key = 'order.payment_late' AND body->>'reference' = $1 ORDER BY id`,
          [reference],
        )
      ).map(({ text }) => text);
    const alsoFor = async (reference: string): Promise<unknown> =>
      (
        await desk.shop.dataSource.query<{ others: unknown }[]>(
          `SELECT evidence->'alsoReportedFor' AS others FROM ${SCHEMA}.unmatched_payment WHERE reference = $1`,
          [reference],
        )
      )[0]?.others;

    it('are one row, and one event for each of the orders', async () => {
      for (const orderId of ['first', 'second', 'third', 'second', 'first']) {
        expect(await desk.report(orderId, 'shared', orderId === 'first' ? 1_999 : 1_000)).toEqual({
          outcome: 'unknown-order',
        });
      }
      expect(await desk.rowsOf('shared')).toEqual(['unknown-order kept']);
      expect(await desk.openOf('shared')).toMatchObject([{ orderId: 'first', amount: 1_999 }]);
      expect(await eventsAbout('shared')).toEqual(['first 1999', 'second 1000', 'third 1000']);
      expect(await alsoFor('shared')).toEqual(['second', 'third']);
      // They may be orders of other merchants than that of the first.
      expect((await desk.openOf('shared'))[0]?.evidence).not.toHaveProperty('alsoReportedFor');
    });

    it('are told of if they are stored together', async () => {
      const money = {
        ...desk.attempt('together'),
        amount: 1_999n,
        currency: 'EUR',
        evidence: { alsoReportedFor: ['b'] },
      };
      const why = { reason: 'unknown-order', handling: 'kept', source: 'report', now: new Date() } as const;
      const names = { merchantAccount: null, transactionId: null };
      const told = ['a', 'b', 'a'].map((orderId) => ({ ...money, ...why, ...names, orderId }));
      await desk.shop.dataSource.transaction((tx) => desk.shop.store.keepUnmatched(tx, told));
      expect(await eventsAbout('together')).toEqual(['a 1999', 'b 1999']);
      expect(await alsoFor('together')).toEqual(['b']);
    });

    it('are told of up to 20 times, so that the row stays small', async () => {
      for (let at = 0; at < 25; at++) await desk.report(`many-${at}`, 'many');
      expect(await eventsAbout('many')).toHaveLength(21);
    });
  });

  it('has what a look-up says if a notification states another amount meanwhile, and the order keeps the first', async () => {
    const orderId = await desk.placed({ attempt: desk.attempt('restated') });
    await desk.expire(orderId);
    const at = { currency: 'EUR', paidAt: new Date(), transactionId: 't-restated', evidence: {} };
    desk.shop.provider.answerQuery('restated', async () => {
      await desk.confirm(orderId, 'restated');
      return { type: 'PAID', amount: 1_500n, ...at };
    });
    await settleUntilDone(desk.shop, [orderId]);
    expect(await desk.statusOf(orderId)).toBe('PAID');
    expect(await desk.attemptsOf(orderId)).toEqual(['restated PAID']);
    expect(await desk.openOf('restated')).toMatchObject([{ reason: 'attempt-mismatch', orderId, amount: 1_500 }]);
  });
});
