import { type PaidOutcome } from '../../../src/payments';
import { until } from '../../support/engine';
import { ORDER_LATE_WATCH, PAYMENT_RECONCILIATION } from '../../../src/orders/model/order-timeouts';
import { paymentSteps } from './payment-steps';
import { post } from './post-notification';
import {
  dueOf,
  eventsOf,
  fill,
  newOrder,
  openShop,
  reconcile,
  SCHEMA,
  settle,
  settleUntilDone,
  type Shop,
} from './shop';

const HALF = { amount: 4_000, lines: [{ sku: 'apple', quantity: 1, unitAmount: 4_000 }] };

interface AttemptRow {
  readonly reference: string;
  readonly status: string;
  readonly paid_amount: string | null;
}

describe('one payment that is reported under several names by several sources', () => {
  let shop: Shop;

  beforeAll(async () => {
    shop = await openShop({ reminderOffsetsMs: [], merchants: { refunder: { latePayment: 'refund' } } });
    await fill(shop, { apple: 1_000 });
  });
  afterAll(() => shop.database.drop());

  const { attempt, placed, report, confirm, expire, statusOf } = paymentSteps(() => shop);
  const rowsOf = (id: string): Promise<AttemptRow[]> =>
    shop.dataSource.query(
      `SELECT reference, status, paid_amount FROM ${SCHEMA}.payment_attempt WHERE order_id = $1 ORDER BY 1`,
      [id],
    );
  const attemptsOf = async (id: string) => (await rowsOf(id)).map(({ reference, status }) => `${reference} ${status}`);
  const refundsOf = async (id: string): Promise<string[]> => {
    const sql = `SELECT reference FROM ${SCHEMA}.refund WHERE order_id = $1`;
    return (await shop.dataSource.query<{ reference: string }[]>(sql, [id])).map(({ reference }) => reference);
  };
  const unmatchedOf = (id: string): Promise<{ reason: string; handling: string }[]> =>
    shop.dataSource.query(
      `SELECT reason, handling FROM ${SCHEMA}.unmatched_payment WHERE order_id = $1 ORDER BY created_at, id`,
      [id],
    );
  const paidAs = (transactionId: string, amount = 1_999n): PaidOutcome => ({
    ...{ type: 'PAID', amount, currency: 'EUR', transactionId, evidence: {} },
    paidAt: new Date('2026-01-01T00:00:00Z'),
  });
  const found = (reference: string, transactionId: string, amount?: bigint): void => {
    shop.provider.answerQuery(reference, paidAs(transactionId, amount));
    shop.provider.answerClose(reference, { type: 'PAID' });
  };

  it('counts once if both names are registered and reported', async () => {
    const id = await placed({ attempt: attempt('cs_a') });
    await shop.register.execute({ orderId: id, ...attempt('pi_a') });
    await report(id, 'cs_a');
    await report(id, 'pi_a');
    found('cs_a', 'pi_a');
    found('pi_a', 'ch_a');
    await reconcile(shop, id);
    expect(await refundsOf(id)).toEqual([]);
    expect((await attemptsOf(id)).sort()).toEqual(['cs_a PAID', 'pi_a DUPLICATE']);
  });

  it('counts once if one name is reported and the other notified', async () => {
    const id = await placed({ attempt: attempt('cs_b') });
    await shop.register.execute({ orderId: id, ...attempt('pi_b') });
    await report(id, 'cs_b');
    await confirm(id, 'pi_b', 1_999, 'ch_b');
    found('cs_b', 'pi_b');
    await reconcile(shop, id);
    expect(await refundsOf(id)).toEqual([]);
    expect((await rowsOf(id)).filter(({ status }) => status === 'PAID')).toHaveLength(1);
  });

  it('does not add up: half of the total under two names leaves the decision to a person', async () => {
    const id = await placed({ ...HALF, attempt: attempt('cs_c') });
    await report(id, 'cs_c', 2_000);
    await report(id, 'pi_c', 2_000);
    found('cs_c', 'pi_c', 2_000n);
    found('pi_c', 'ch_c', 2_000n);
    await reconcile(shop, id);
    expect((await rowsOf(id)).filter(({ status }) => status === 'PAID')).toHaveLength(1);
    expect(await unmatchedOf(id)).toContainEqual({ reason: 'amount-mismatch', handling: 'kept' });
  });

  it('pays only one of two orders whose look-ups find it in one batch, and leaves the other one to a person', async () => {
    const ids = [await placed({ attempt: attempt('twin_a') }), await placed({ attempt: attempt('twin_b') })];
    for (const reference of ['twin_a', 'twin_b']) found(reference, 'pi_twin');
    for (const id of ids) await expire(id);
    const outcomes = await settle(shop, ids);
    expect(await Promise.all(ids.map(statusOf))).toEqual(['PAID', 'CLOSING']);
    expect(outcomes.map(({ type }) => type)).toEqual(['done', 'retry']);
    expect(await unmatchedOf(ids[1] ?? '')).toEqual([{ reason: 'attempt-mismatch', handling: 'kept' }]);
  });

  it('never refunds a reference that only a report has linked to its transaction id', async () => {
    const id = await placed({ merchantId: 'refunder', attempt: attempt('mine') });
    await report(id, 'foreign', 10, 't-mine');
    await confirm(id, 'mine', 10, 't-mine');
    await expire(id);
    await settleUntilDone(shop, [id]);
    expect(await refundsOf(id)).toEqual(['mine']);
  });

  it('never refunds such a reference of a canceled order', async () => {
    const id = await placed({ attempt: attempt('mine5') });
    await shop.cancel.execute({ orderId: id });
    await report(id, 'foreign5', 10, 't-mine5');
    found('mine5', 't-mine5', 10n);
    await settleUntilDone(shop, [id]);
    expect(await refundsOf(id)).toEqual(['mine5']);
  });

  it('does not hide a second payment of an attempt that a report had confused', async () => {
    const id = await placed({ attempt: attempt('s-a') });
    await shop.register.execute({ orderId: id, ...attempt('s-b') });
    await report(id, 's-a', 1_999, 't-b');
    await confirm(id, 's-b', 1_999, 't-b');
    expect(await attemptsOf(id)).toEqual(['s-a CLOSED', 's-b PAID']);
    await confirm(id, 's-a', 1_999, 't-a');
    expect(await refundsOf(id)).toEqual(['s-a']);
  });

  it('pays one order, and not a second one at its deadline', async () => {
    const [first, second] = [await placed({ attempt: attempt('pi_v') }), await placed({ attempt: attempt('cs_v') })];
    await confirm(first, 'pi_v', 1_999, 'ch_v');
    found('cs_v', 'pi_v');
    await expire(second);
    await settleUntilDone(shop, [second]);
    expect([await statusOf(first), await statusOf(second)]).toEqual(['PAID', 'CLOSING']);
    expect(await unmatchedOf(second)).toEqual([{ reason: 'attempt-mismatch', handling: 'kept' }]);
  });

  it('pays one order, and does not revive a second one', async () => {
    const [first, second] = [await placed({ attempt: attempt('pi_w') }), await placed({ attempt: attempt('cs_w') })];
    await confirm(first, 'pi_w', 1_999, 'ch_w');
    await expire(second);
    await settleUntilDone(shop, [second]);
    found('cs_w', 'pi_w');
    const due = dueOf(second, { kind: ORDER_LATE_WATCH, payload: { since: new Date().toISOString() } });
    const answer = await shop.watching.lookUp(due, new AbortController().signal);
    await shop.dataSource.transaction((tx) => shop.watching.handleBatch([{ ...due, answer }], tx));
    expect(await statusOf(second)).toBe('CLOSED');
    expect(await unmatchedOf(second)).toEqual([{ reason: 'attempt-mismatch', handling: 'kept' }]);
  });

  it('belongs to the attempt that was looked up, even if a process knows a default account', async () => {
    const id = await placed({ ...HALF, attempt: attempt('acc') });
    const provider = shop.provider as { defaultAccount?: string };
    provider.defaultAccount = 'shop';
    try {
      found('acc', 't-acc', 2_000n);
      await shop.check.execute(id);
      await report(id, 'acc', 2_000);
      await expire(id);
      await settleUntilDone(shop, [id]);
      expect(await rowsOf(id)).toHaveLength(1);
      expect(await statusOf(id)).not.toBe('PAID');
    } finally {
      delete provider.defaultAccount;
    }
  });

  it('pays the order that a report names after the notification of the provider', async () => {
    const { id } = newOrder();
    await keptMoney('n-1', 1_999n);
    expect(await report(id, 'n-1')).toEqual({ outcome: 'unknown-order' });
    await shop.place.execute([newOrder({ id })]);
    await settleUntilDone(shop, [id]);
    expect(await statusOf(id)).toBe('PAID');
  });

  it('has the amount that the provider says, even before its order exists', async () => {
    const { id } = newOrder();
    await report(id, 'e-1', 1_999);
    await keptMoney('e-1', 10n);
    await shop.place.execute([newOrder({ id, attempt: attempt('e-1') })]);
    await settleUntilDone(shop, [id]);
    expect(await statusOf(id)).not.toBe('PAID');
    expect(await rowsOf(id)).toMatchObject([{ paid_amount: '10' }]);
  });

  it('is announced once with its result if two reports are confirmed together', async () => {
    const id = await placed({ attempt: attempt('k-1') });
    await shop.register.execute({ orderId: id, ...attempt('k-2') });
    await report(id, 'k-1');
    await report(id, 'k-2');
    shop.provider.paid('k-1');
    shop.provider.paid('k-2');
    await reconcile(shop, id);
    const late = (await eventsOf(shop, id)).filter(({ routing_key }) => routing_key === 'order.payment_late');
    expect(late.map(({ body }) => body)).toMatchObject([{ handling: 'refunding' }]);
  });

  it('is shown to a person again if its amount changes after that person has settled it', async () => {
    const id = await placed({ attempt: attempt('d-1') });
    await confirm(id, 'd-1');
    await confirm(id, 'd-1', 5);
    await shop.dataSource.query(`UPDATE ${SCHEMA}.unmatched_payment SET handling = 'settled' WHERE reference = 'd-1'`);
    await confirm(id, 'd-1', 5);
    expect(await unmatchedOf(id)).toEqual([{ reason: 'attempt-mismatch', handling: 'settled' }]);
    await confirm(id, 'd-1', 9_999);
    expect(await unmatchedOf(id)).toEqual([{ reason: 'attempt-mismatch', handling: 'kept' }]);
  });

  it('is found under a reference that nobody has registered, though a report under it seems to add one until then', async () => {
    const id = await placed();
    await report(id, 'own-1');
    for (const reference of ['own-1', 'reference-1']) await confirm(id, reference, 1_999, 'own-1');
    await report(id, 'reference-1');
    found('reference-1', 'own-1');
    await reconcile(shop, id);
    expect(await attemptsOf(id)).toEqual(['own-1 DUPLICATE', 'reference-1 PAID']);
    expect(await unmatchedOf(id)).toEqual([{ reason: 'surplus', handling: 'adopted' }]);
  });

  it('is that of its order, although all orders are paid under one reference, such as a static code', async () => {
    const ids = [await placed(), await placed()];
    for (const [index, id] of ids.entries()) {
      await report(id, `of-code-${index}`);
      await post({ shop }, { ...paidAs(`of-code-${index}`), reference: 'code' });
      await post({ shop }, { ...paidAs(`of-code-${index}`), reference: 'code' });
    }
    expect(await Promise.all(ids.map(statusOf))).toEqual(['PAID', 'PAID']);
    expect(await Promise.all(ids.map(attemptsOf))).toEqual([['of-code-0 PAID'], ['of-code-1 PAID']]);
  });

  it('is the same in a report under a registered name that the provider has called another one of it', async () => {
    const id = await placed({ attempt: attempt('cs_e') });
    await shop.register.execute({ orderId: id, ...attempt('pi_e') });
    await confirm(id, 'pi_e', 1_999, 'pi_e');
    await confirm(id, 'cs_e', 1_999, 'pi_e');
    expect(await report(id, 'cs_e')).toMatchObject({ outcome: 'already-paid' });
    expect(await report(id, 'cs_e', 5)).toMatchObject({ outcome: 'already-paid' });
    expect((await attemptsOf(id)).sort()).toEqual(['cs_e DUPLICATE', 'pi_e PAID']);
    expect(await unmatchedOf(id)).toEqual([{ reason: 'attempt-mismatch', handling: 'kept' }]);
  });

  it('waits for a person if its attempt is registered for another order at the time of adoption', async () => {
    const { id } = newOrder();
    await report(id, 'race-1');
    await shop.place.execute([newOrder({ id })]);
    const other = await placed();
    const runner = shop.dataSource.createQueryRunner();
    await runner.startTransaction('READ COMMITTED');
    await shop.register.execute({ orderId: other, ...attempt('race-1') }, { tx: runner.manager });
    const settling = settleUntilDone(shop, [id]);
    await until(isBlocked);
    await runner.commitTransaction();
    await runner.release();
    await settling;
    expect(await statusOf(id)).not.toBe('PAID');
  });

  it.each([
    ['tells of it', 'race-2', true],
    ['says that something has changed', 'race-3', false],
  ])(
    'pays an order without a deadline that registers its reference at the same moment, as the provider %s',
    async (_how, reference, isMoney) => {
      const id = await placed({ autoClose: false });
      const paid = paidAs(`t-${reference}`);
      shop.provider.answerQuery(reference, paid);
      const runner = shop.dataSource.createQueryRunner();
      await runner.startTransaction('READ COMMITTED');
      await shop.register.execute({ orderId: id, ...attempt(reference) }, { tx: runner.manager });
      let isTold = false;
      const news = isMoney ? { ...paid, reference } : { type: 'STATUS_CHANGED' as const, reference, evidence: {} };
      const telling = post({ shop }, news).then(() => (isTold = true));
      await until(async () => isTold || (await isBlocked()));
      await runner.commitTransaction();
      await runner.release();
      await telling;
      const isAsked = await shop.scheduler.find({ kind: PAYMENT_RECONCILIATION, key: id });
      if (isAsked) await reconcile(shop, id);
      expect(await attemptsOf(id)).toEqual([`${reference} PAID`]);
    },
  );

  const isBlocked = async (): Promise<boolean> => {
    const sql = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    return (await shop.dataSource.query<unknown[]>(sql)).length > 0;
  };
  const keptMoney = (reference: string, amount: bigint): Promise<void> =>
    shop.dataSource.transaction((tx) =>
      shop.store.keepUnmatched(tx, [
        {
          ...{ ...attempt(reference), reason: 'unknown-order', handling: 'kept', orderId: null, amount },
          ...{
            currency: 'EUR',
            merchantAccount: null,
            transactionId: `t-${reference}`,
            source: 'provider',
            evidence: {},
          },
          now: new Date(),
        },
      ]),
    );

  describe('that two transactions book for two orders at the same time', () => {
    type Book = (orderId: string, name: string, transactionId: string) => Promise<unknown>;
    const confirmed: Book = (id, name, transactionId) => confirm(id, name, 1_999, transactionId);
    const reported: Book = (id, name, transactionId) => report(id, name, 1_999, transactionId);
    /** Under its transaction id, without another one. */
    const renamed: Book = (id, _name, transactionId) => report(id, transactionId);
    const lookedUp: Book = async (id, name, transactionId) => {
      found(name, transactionId);
      await expire(id);
      await settle(shop, [id]);
    };

    it.each([
      ['two notifications', confirmed, confirmed],
      ['two reports', reported, reported],
      ['two reports under two names', reported, renamed],
      ['two look-ups', lookedUp, lookedUp],
      ['a look-up and a notification', lookedUp, confirmed],
    ])('pays one of them, and a person is told: %s', async (title, first, second) => {
      for (let turn = 0; turn < 5; turn++) {
        const name = `${title} ${turn}`.replaceAll(' ', '-');
        const ids = [
          await placed({ attempt: attempt(`${name}-a`) }),
          await placed({ attempt: attempt(`${name}-b`) }),
        ] as const;
        await Promise.all([first(ids[0], `${name}-a`, `t-${name}`), second(ids[1], `${name}-b`, `t-${name}`)]);
        const rows = (await Promise.all(ids.map(unmatchedOf))).flat();
        expect(rows).toEqual([{ reason: 'attempt-mismatch', handling: 'kept' }]);
        expect((await Promise.all(ids.map(statusOf))).filter((status) => status === 'PAID')).toHaveLength(1);
      }
    });

    it('is assigned without a deadlock while it is told of again', async () => {
      for (let turn = 0; turn < 5; turn++) {
        const [reference, orderId] = [`deadlock-${turn}`, await placed()];
        const names = { ...attempt(reference), merchantAccount: null, transactionId: `t-${reference}` };
        const why = { reason: 'unknown-order', handling: 'kept', orderId: null, source: 'provider' } as const;
        const row = { ...names, ...why, amount: 1_999n, currency: 'EUR', evidence: {}, now: new Date() };
        const keep = () => shop.dataSource.transaction((tx) => shop.store.keepUnmatched(tx, [row]));
        await keep();
        const told = (await shop.unmatched.list()).find((one) => one.reference === reference);
        const assign = shop.assign.execute({ id: told?.id ?? '', orderId, reason: 'the receipt names it' });
        const [assigned] = await Promise.all([assign, ...Array.from({ length: 4 }, keep)]);
        expect(assigned).toMatchObject({ outcome: 'assigned' });
      }
      expect(shop.failures).not.toContain('40P01');
    });
  });
});
