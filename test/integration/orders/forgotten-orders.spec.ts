import { PAYMENT_REFUND } from '../../../src/orders/model/order-timeouts';
import { type DueTimeout } from '../../../src/timeouts';
import { until } from '../../support/engine';
import { eraseOrder, purgeOrder } from './forget-order';
import { ANNA, type OperatorDesk, openDesk } from './operator-desk';
import { post, tellPaid } from './post-notification';
import { dueOf, notified, reconcile, SCHEMA, settleUntilDone } from './shop';

describe('an order that was purged or erased', () => {
  let desk: OperatorDesk;

  beforeAll(async () => {
    desk = await openDesk();
  });
  afterAll(() => desk.shop.database.drop());

  const news = (reference: string) => post(desk, { type: 'STATUS_CHANGED', reference, evidence: {} });

  /** Runs the refund of this order once, as the engine does. */
  async function runRefund(orderId: string): Promise<void> {
    const { shop } = desk;
    const [row] = await shop.dataSource.query<{ number: string }[]>(
      `SELECT number FROM ${SCHEMA}.refund WHERE order_id = $1`,
      [orderId],
    );
    const due = dueOf(row?.number ?? '', { kind: PAYMENT_REFUND }) as DueTimeout<never>;
    const answer = (await shop.refunding.lookUp(due, new AbortController().signal)) as never;
    await shop.dataSource.transaction((tx) => shop.refunding.handleBatch([{ ...due, answer }], tx));
    await desk.endTimeoutsOf(due.key);
  }

  /** A canceled order whose late payment was refunded. */
  async function refunded(reference: string): Promise<string> {
    const id = await desk.placed();
    await desk.shop.cancel.execute({ orderId: id });
    await notified(desk.shop, id, reference);
    await runRefund(id);
    expect(await desk.statusOf(id)).toBe('CLOSED_REFUNDED');
    return id;
  }

  const waiting = async (): Promise<number> => {
    const sql = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    return (await desk.shop.dataSource.query<unknown[]>(sql)).length;
  };

  it.each([
    ['purged', purgeOrder],
    ['erased', eraseOrder],
  ])('has a refund that fails while it is being %s: a person is told', async (what, forget) => {
    const reference = `fails-${what}`;
    const id = await refunded(reference);
    const other = desk.shop.dataSource.createQueryRunner();
    await other.startTransaction();
    await other.query(`SELECT FROM ${SCHEMA}.payment_attempt WHERE order_id = $1 FOR UPDATE`, [id]);
    const forgetting = forget(desk, id);
    await until(async () => (await waiting()) > 0);
    let isAccepted = false;
    const telling = news(reference).then(() => (isAccepted = true));
    await until(async () => isAccepted || (await waiting()) > 1);
    await other.rollbackTransaction();
    await other.release();
    await Promise.all([forgetting, telling]);
    expect(await desk.openOf(reference)).toMatchObject([{ reason: 'refund-failed', handling: 'kept', orderId: id }]);
  });

  it.each([
    ['purged', purgeOrder],
    ['erased', eraseOrder],
  ])('after it was %s, has a failed refund that a person has settled: it stays settled', async (what, forget) => {
    const reference = `settled-${what}`;
    await forget(desk, await refunded(reference));
    await news(reference);
    const [row] = await desk.openOf(reference);
    await desk.shop.unmatched.settle({ id: row?.id ?? '', reason: 'wire 4711' }, { by: ANNA });
    // Such as of what that person has done at the provider.
    await news(reference);
    expect(await desk.openOf(reference)).toEqual([]);
  });

  it('has a failed refund whose settlement is taken back: after an erasure, it waits for a person and asks no provider', async () => {
    desk.shop.provider.answerRefund('reopened', { type: 'REJECTED', reason: 'the card is gone' });
    const id = await desk.placed();
    await desk.shop.cancel.execute({ orderId: id });
    await notified(desk.shop, id, 'reopened');
    await runRefund(id);
    const [row] = await desk.openOf('reopened');
    const why = { id: row?.id ?? '', reason: 'wire 4711' };
    await desk.shop.unmatched.settle(why, { by: ANNA });
    await runRefund(id);
    await eraseOrder(desk, id);
    const reopened = await desk.shop.unmatched.reopen(why, { by: ANNA });
    expect(reopened).toMatchObject({ outcome: 'reopened', payment: { handling: 'kept', reason: 'refund-failed' } });
    const asked = await desk.shop.dataSource.query<unknown[]>(`SELECT 1 FROM ${SCHEMA}.timeout WHERE kind = $1`, [
      PAYMENT_REFUND,
    ]);
    expect([await desk.statusOf(id), asked]).toEqual(['CLOSED_REFUNDED', []]);
    expect(await desk.shop.unmatched.settle(why, { by: ANNA })).toMatchObject({ outcome: 'settled' });
  });

  it('has refunded what a report names with another amount: the row says so, so that it is not paid back twice', async () => {
    const orderId = await refunded('amount');
    await purgeOrder(desk, orderId);
    const told = { orderId, ...desk.attempt('amount'), currency: 'EUR' };
    await desk.shop.markPaid.execute({ ...told, amount: 1_999 });
    expect(await desk.openOf('amount')).toEqual([]);
    await desk.shop.markPaid.execute({ ...told, amount: 2_500 });
    expect(await desk.openOf('amount')).toMatchObject([
      {
        reason: 'unknown-order',
        amount: 2_500,
        evidence: { says: expect.stringContaining('was refunded') as unknown },
      },
    ]);
  });

  describe('and had refunded a payment which the provider may find under several of its names:', () => {
    const told = (reference: string, account: { merchantAccount?: string } = {}) =>
      post(desk, { type: 'STATUS_CHANGED', reference, ...account, evidence: {} });

    it.each([
      ['purged', undefined, purgeOrder],
      ['erased', undefined, eraseOrder],
      ['erased', 'm1', eraseOrder],
    ])('a person is told its amount once if its id is its reference: %s, at account %s', async (what, at, forget) => {
      const reference = `own-id-${what}-${at}`;
      const id = await desk.placed({ lines: [] });
      const account = at === undefined ? {} : { merchantAccount: at };
      await desk.shop.register.execute({ orderId: id, ...desk.attempt(reference), ...account });
      const money = { amount: 500n, currency: 'EUR', paidAt: new Date(), transactionId: reference, evidence: {} };
      await post(desk, { type: 'PAID', reference, ...account, ...money });
      await desk.shop.cancel.execute({ orderId: id });
      await settleUntilDone(desk.shop, [id]);
      await endWith(id, forget);
      await told(reference, account);
      expect(await desk.openOf(reference)).toMatchObject([{ reason: 'refund-failed', amount: 500, orderId: id }]);
    });

    it('a person is told its amount once if it was a second payment, and is told under its id', async () => {
      const id = await desk.placed({ attempt: desk.attempt('twice') });
      await tellPaid(desk, 'twice', 't-twice-1');
      await tellPaid(desk, 'twice', 't-twice-2', 500n);
      const request = { orderId: id, ...desk.attempt('t-twice-2'), reason: 'asked' };
      expect(await desk.shop.refund.execute(request, { by: ANNA })).toMatchObject({ outcome: 'refunding' });
      await endWith(id, eraseOrder);
      await told('t-twice-2');
      expect(await desk.openOf('t-twice-2')).toMatchObject([{ reason: 'refund-failed', amount: 500, orderId: id }]);
    });

    async function endWith(id: string, forget: (desk: OperatorDesk, id: string) => Promise<void>): Promise<void> {
      expect(await desk.runRefundOf(id)).toEqual({ type: 'done' });
      await forget(desk, id);
    }
  });

  describe('and whose reference a new order uses', () => {
    const tell = (reference: string, transactionId: string) => tellPaid(desk, reference, transactionId);
    const takes = (reference: string, payment?: { transactionId: string }) =>
      post(desk, { type: 'CHARGEBACK', reference, ...payment, amount: 1_999n, currency: 'EUR', evidence: {} });

    async function settle(reference: string): Promise<void> {
      for (const { id } of await desk.openOf(reference)) {
        expect(await desk.shop.unmatched.settle({ id, reason: 'lost' }, { by: ANNA })).toMatchObject({
          outcome: 'settled',
        });
      }
    }

    it.each([
      ['', 'lost'],
      [', told after it,', 'late'],
    ])('has a settled chargeback%s which does not hold the refund of a new payment', async (told, reference) => {
      const first = await desk.placed({ attempt: desk.attempt(reference) });
      await tell(reference, `t-${reference}`);
      if (told) await purgeOrder(desk, first);
      await takes(reference, told ? { transactionId: `t-${reference}` } : undefined);
      await settle(reference);
      if (!told) await purgeOrder(desk, first);
      const id = await desk.placed({ attempt: desk.attempt(reference) });
      await desk.shop.register.execute({ orderId: id, ...desk.attempt(`${reference}-2`) });
      await tell(`${reference}-2`, `t-${reference}-2`);
      await tell(reference, `t-${reference}-3`);
      expect((await desk.attemptsOf(id))?.sort()).toEqual([`${reference} REFUNDING`, `${reference}-2 PAID`]);
    });

    it('has a settled chargeback, which holds the refund of the order that has got its payment', async () => {
      const loser = await desk.placed({ lines: [] });
      await desk.shop.markPaid.execute({ orderId: loser, ...desk.attempt('t-got'), amount: 1_999, currency: 'EUR' });
      await takes('t-got');
      const id = await desk.placed({ attempt: desk.attempt('got') });
      await desk.shop.register.execute({ orderId: id, ...desk.attempt('got-2') });
      await tell('got', 't-got');
      await reconcile(desk.shop, loser);
      await settle('t-got');
      await purgeOrder(desk, loser);
      await tell('got-2', 't-got-2');
      expect((await desk.attemptsOf(id))?.sort()).toEqual(['got PAID', 'got-2 PAID']);
    });
  });
});
