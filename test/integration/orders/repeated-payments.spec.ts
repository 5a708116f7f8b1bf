import { until } from '../../support/engine';
import { eraseOrder, purgeOrder } from './forget-order';
import { ANNA, openDesk, type OperatorDesk } from './operator-desk';
import { SCHEMA, settle, settleUntilDone } from './shop';

describe('a payment whose order was erased or purged, or that was settled without an order', () => {
  let desk: OperatorDesk;
  beforeAll(async () => {
    desk = await openDesk();
  });
  afterAll(() => desk.shop.database.drop());

  const sql = <T>(text: string, ...parameters: unknown[]): Promise<T[]> => desk.shop.dataSource.query(text, parameters);
  /** A notification of an attempt that nobody has registered. */
  const notify = (reference: string, amount = 1_999n, transactionId = `t-${reference}`): Promise<void> =>
    desk.shop.dataSource.transaction((tx) =>
      desk.shop.store.keepUnmatched(tx, [
        {
          ...{ ...desk.attempt(reference), reason: 'unknown-order', handling: 'kept', orderId: null, amount },
          ...{ currency: 'EUR', merchantAccount: null, transactionId, source: 'provider', evidence: {} },
          now: new Date(),
        },
      ]),
    );
  const erase = (orderId: string) => eraseOrder(desk, orderId);
  const purge = (orderId: string) => purgeOrder(desk, orderId);
  const paid = async (reference: string): Promise<string> => {
    const orderId = await desk.placed({ attempt: desk.attempt(reference) });
    await desk.confirm(orderId, reference);
    expect(await desk.statusOf(orderId)).toBe('PAID');
    return orderId;
  };
  /** A report that does not name the transaction. */
  const reportAlone = async (orderId: string, reference: string): Promise<void> => {
    const report = { orderId, ...desk.attempt(reference), amount: 1_999, currency: 'EUR' };
    expect(await desk.shop.markPaid.execute(report)).toMatchObject({ outcome: 'paid' });
  };
  const settleRow = async (reference: string): Promise<string> => {
    const [{ id } = { id: 'none' }] = await desk.openOf(reference);
    const settlement = { id, reason: 'paid back by wire' };
    expect(await desk.shop.settleUnmatched.execute(settlement, { by: ANNA })).toMatchObject({ outcome: 'settled' });
    return id;
  };
  const reopen = (id: string) => desk.shop.unmatched.reopen({ id, reason: 'it was the wrong one' }, { by: ANNA });
  const assign = (id: string, orderId: string) =>
    desk.shop.assign.execute({ id, orderId, reason: 'the buyer sent a receipt' }, { by: ANNA });

  it.each([
    ['erased', erase],
    ['purged', purge],
  ])('is not kept anew if its notification is repeated after its order was %s', async (what, forget) => {
    await forget(await paid(`r-${what}`));
    await notify(`r-${what}`);
    await notify(`${what}-alias`, 1_999n, `t-r-${what}`);
    expect(await desk.openOf(`r-${what}`)).toEqual([]);
    expect(await desk.openOf(`${what}-alias`)).toEqual([]);
    expect(await desk.report('gone-with-it', `r-${what}`)).toEqual({ outcome: 'unknown-order' });
    expect(await desk.openOf(`r-${what}`)).toEqual([]);
  });

  it.each([
    ['erased', erase],
    ['purged', purge],
  ])('leaves a later one under its reference to a person if it was refunded before it was %s', async (what, forget) => {
    const reference = `again-${what}`;
    const closed = async (): Promise<string> => {
      const orderId = await desk.placed({ attempt: desk.attempt(reference), lines: [] });
      expect(await desk.shop.cancel.execute({ orderId })).toMatchObject({ outcome: 'cancelling' });
      await settleUntilDone(desk.shop, [orderId]);
      return orderId;
    };
    const first = await closed();
    await desk.confirm(first, reference);
    await sql(`UPDATE ${SCHEMA}.refund SET status = 'REFUNDED', evidence = '{}' WHERE order_id = $1`, first);
    await sql(`UPDATE ${SCHEMA}.payment_attempt SET status = 'REFUNDED' WHERE order_id = $1`, first);
    await sql(`UPDATE ${SCHEMA}.orders SET status = 'CLOSED_REFUNDED' WHERE id = $1`, first);
    await sql(`DELETE FROM ${SCHEMA}.timeout WHERE kind = 'payment.refund'`);
    await forget(first);
    const orderId = await closed();
    const money = { orderId, ...desk.attempt(reference), amount: 1_999, currency: 'EUR', transactionId: `2-${what}` };
    await desk.shop.markPaid.confirm(money, { cause: 'notify' }, { account: null });
    expect([await desk.statusOf(orderId), await desk.attemptsOf(orderId)]).toEqual([
      'CANCELLED',
      [`${reference} PAID`],
    ]);
    expect(await sql(`SELECT 1 FROM ${SCHEMA}.refund WHERE order_id = $1`, orderId)).toEqual([]);
    expect(await sql(`SELECT handling FROM ${SCHEMA}.unmatched_payment WHERE order_id = $1`, orderId)).toEqual([
      { handling: 'kept' },
    ]);
    const refund = { orderId, ...desk.attempt(reference), reason: 'paid late' };
    expect(await desk.shop.refund.execute(refund, { by: ANNA })).toMatchObject({ code: 'PAYMENT_TAKEN' });
  });

  it('is kept if it has another amount or another transaction id', async () => {
    await erase(await paid('r-other'));
    await notify('r-other', 500n);
    expect(await desk.openOf('r-other')).toMatchObject([{ amount: 500 }]);
    await erase(await paid('r-second'));
    await notify('r-second', 1_999n, 't-another');
    expect(await desk.openOf('r-second')).toHaveLength(1);
  });

  it.each([
    ['erased', erase],
    ['purged', purge],
  ])(
    'is kept under a name that only a report had given to the payment of an order which was %s',
    async (what, forget) => {
      const [reference, mistaken] = [`named-${what}`, `misnamed-${what}`];
      const orderId = await desk.placed({ attempt: desk.attempt(reference) });
      await desk.shop.markPaid.execute({
        ...{ orderId, ...desk.attempt(mistaken), amount: 1_999, currency: 'EUR' },
        transactionId: reference,
      });
      await desk.confirm(orderId, reference);
      expect(await desk.attemptsOf(orderId)).toEqual([`${reference} PAID`, `${mistaken} DUPLICATE`]);
      await forget(orderId);
      await notify(mistaken, 1_999n, `t-${reference}`);
      expect(await desk.openOf(mistaken)).toEqual([]);
      await notify(mistaken);
      expect(await desk.openOf(mistaken)).toMatchObject([{ reason: 'unknown-order', amount: 1_999 }]);
    },
  );

  it('that was only reported does not hide the word of its provider', async () => {
    const orderId = await desk.placed();
    await desk.report(orderId, 'r-claimed');
    await purge(orderId);
    expect(await desk.report('gone-with-it', 'r-claimed')).toEqual({ outcome: 'unknown-order' });
    expect(await desk.openOf('r-claimed')).toEqual([]);
    await notify('r-claimed');
    expect(await desk.openOf('r-claimed')).toHaveLength(1);
  });

  it.each([
    ['erased', erase],
    ['purged', purge],
  ])('that was reported under its two names is shown to a person if one order was %s', async (what, forget) => {
    const [first, second] = [await desk.placed({ attempt: desk.attempt(`r-two-${what}`) }), await desk.placed()];
    await reportAlone(first, `r-two-${what}`);
    await reportAlone(second, `t-r-two-${what}`);
    await forget(first);
    expect(await desk.confirm(second, `r-two-${what}`)).toMatchObject({ outcome: 'already-paid' });
    expect(await desk.openOf(`r-two-${what}`)).toMatchObject([{ reason: 'attempt-mismatch', orderId: second }]);
    await settleRow(`r-two-${what}`);
    await desk.confirm(second, `r-two-${what}`);
    expect(await desk.rowsOf(`r-two-${what}`)).toEqual(['attempt-mismatch settled']);
  });

  it('that was only reported for an order is shown to a person if the look-up of another one finds it', async () => {
    const claimant = await desk.placed();
    await reportAlone(claimant, 't-r-looked-up');
    await purge(claimant);
    const orderId = await desk.placed({ attempt: desk.attempt('r-looked-up') });
    desk.shop.provider.paid('r-looked-up');
    await desk.expire(orderId);
    await settleUntilDone(desk.shop, [orderId]);
    expect(await desk.statusOf(orderId)).toBe('PAID');
    expect(await desk.openOf('r-looked-up')).toMatchObject([{ reason: 'attempt-mismatch', orderId }]);
  });

  describe.each([
    ['erased', erase],
    ['purged', purge],
  ])('and was only reported for an order that was %s', (what, forget) => {
    const reported = async (reference: string): Promise<string> => {
      const orderId = await desk.placed({ attempt: desk.attempt(reference) });
      await reportAlone(orderId, reference);
      await forget(orderId);
      return reference;
    };

    it('is shown to a person if another order adopts it', async () => {
      const reference = await reported(`r-adopted-${what}`);
      await notify(reference);
      const orderId = await desk.placed({ attempt: desk.attempt(reference) });
      await settle(desk.shop, [orderId]);
      expect(await desk.rowsOf(reference)).toEqual(['unknown-order adopted', 'attempt-mismatch kept']);
    });

    it('is refunded for another order only by a person', async () => {
      const reference = await reported(`r-late-${what}`);
      const orderId = await desk.placed({ attempt: desk.attempt(reference) });
      await desk.shop.cancel.execute({ orderId });
      await settleUntilDone(desk.shop, [orderId]);
      await desk.confirm(orderId, reference);
      expect(await desk.rowsOf(reference)).toEqual(['attempt-mismatch kept', 'late kept']);
    });
  });

  it('that was settled as a mere report does not hide the word of its provider', async () => {
    await desk.report('nobody', 'r-word');
    await settleRow('r-word');
    expect(await desk.report('nobody', 'r-word')).toEqual({ outcome: 'unknown-order' });
    expect(await desk.rowsOf('r-word')).toEqual(['unknown-order settled']);
    await notify('r-word');
    expect(await desk.openOf('r-word')).toMatchObject([
      { reason: 'unknown-order', handling: 'kept', source: 'provider' },
    ]);
    await settleRow('r-word');
    await notify('r-word');
    expect(await desk.rowsOf('r-word')).toEqual(['unknown-order settled']);
  });

  it.each([
    ['its provider confirms it', 'r-early-confirmed', 1_999n, 't-1'],
    ['another amount is confirmed', 'r-early-other', 2_500n, 't-1'],
  ])('that came before its order, which was purged, is kept if %s', async (_, reference, amount, transactionId) => {
    if (amount === 2_500n) await notify(reference, 1_999n, transactionId);
    else await desk.report(`order-of-${reference}`, reference);
    const orderId = await desk.placed({ id: `order-of-${reference}`, attempt: desk.attempt(reference) });
    await settleUntilDone(desk.shop, [orderId]);
    expect(await desk.statusOf(orderId)).toBe('PAID');
    expect(await desk.rowsOf(reference)).toEqual(['unknown-order adopted']);
    await purge(orderId);
    await notify(reference, amount, transactionId);
    expect(await desk.openOf(reference)).toMatchObject([{ handling: 'kept', amount: Number(amount) }]);
    await notify(reference, 1_999n, 't-second');
    expect(await desk.openOf('t-second')).toMatchObject([{ handling: 'kept', amount: 1_999 }]);
  });

  it('is acknowledged if it is reported again for its erased order', async () => {
    const orderId = await paid('r-again');
    await erase(orderId);
    expect(await desk.report(orderId, 'r-again')).toMatchObject({ outcome: 'already-paid' });
    expect(await desk.confirm(orderId, 'r-again')).toMatchObject({ outcome: 'already-paid' });
    expect(await desk.rowsOf('r-again')).toEqual([]);
    expect(await sql(`SELECT 1 FROM ${SCHEMA}.payment_attempt WHERE reference = 'r-again'`)).toEqual([]);
  });

  it('pays no other order, which a person is told', async () => {
    await erase(await paid('r-taken'));
    const other = await desk.placed({ attempt: desk.attempt('r-taken') });
    expect(await desk.confirm(other, 'r-taken')).toMatchObject({ outcome: 'attempt-mismatch' });
    expect(await desk.statusOf(other)).toBe('PENDING');
    const [row] = await desk.openOf('r-taken');
    expect(row).toMatchObject({ reason: 'attempt-mismatch', orderId: other });
    expect(await assign(row?.id ?? '', other)).toMatchObject({ code: 'PAYMENT_TAKEN' });
    desk.shop.provider.paid('r-taken');
    await desk.expire(other);
    await settle(desk.shop, [other]);
    expect(await desk.statusOf(other)).toBe('CLOSING');
  });

  it('is never refunded automatically if a person assigns it to an erased order', async () => {
    const orderId = await paid('r-original');
    await erase(orderId);
    const id = await desk.unmatched('r-unlike');
    expect(await assign(id, orderId)).toMatchObject({ outcome: 'assigned', booked: 'surplus' });
    expect(await sql(`SELECT 1 FROM ${SCHEMA}.refund WHERE order_id = $1`, orderId)).toEqual([]);
    expect(await desk.openOf('r-unlike')).toMatchObject([{ reason: 'surplus', handling: 'kept' }]);
    const closed = await desk.closed();
    await erase(closed);
    expect(await assign(await desk.unmatched('r-late'), closed)).toMatchObject({ booked: 'late' });
    expect(await desk.statusOf(closed)).toBe('CLOSED');
    expect(await desk.openOf('r-late')).toMatchObject([{ reason: 'late', handling: 'kept' }]);
  });

  it('that was settled as a report with an own transaction id pays no order when its provider confirms it', async () => {
    const id = 'order-of-books';
    const report = {
      orderId: id,
      ...desk.attempt('r-books'),
      amount: 1_999,
      currency: 'EUR',
      transactionId: 'books-1',
    };
    expect(await desk.shop.markPaid.execute(report)).toMatchObject({ outcome: 'unknown-order' });
    await settleRow('r-books');
    await desk.placed({ id, attempt: desk.attempt('r-books') });
    await desk.confirm(id, 'r-books');
    expect([await desk.statusOf(id), await desk.attemptsOf(id)]).toEqual(['PENDING', ['r-books SETTLED']]);
    expect(await desk.openOf('r-books')).toMatchObject([{ handling: 'kept', source: 'provider' }]);
  });

  it('that was settled before its attempt was registered lets that order close as unpaid', async () => {
    await notify('r-early');
    await settleRow('r-early');
    const orderId = await desk.placed({ attempt: desk.attempt('r-early') });
    desk.shop.provider.paid('r-early');
    await desk.expire(orderId);
    expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
    expect(await desk.statusOf(orderId)).toBe('CLOSED');
    expect(await desk.attemptsOf(orderId)).toEqual(['r-early SETTLED']);
    expect(await desk.rowsOf('r-early')).toEqual(['unknown-order settled']);
    expect(await desk.confirm(orderId, 'r-early')).toMatchObject({ outcome: 'late' });
    expect(await desk.rowsOf('r-early')).toEqual(['unknown-order settled']);
    expect(await sql(`SELECT 1 FROM ${SCHEMA}.refund WHERE order_id = $1`, orderId)).toEqual([]);
  });

  it('that was settled as a mere report is shown to a person when the look-up of its order finds it', async () => {
    await desk.report('nobody', 'r-found');
    const id = await settleRow('r-found');
    const orderId = await desk.placed({ attempt: desk.attempt('r-found') });
    desk.shop.provider.paid('r-found');
    await desk.expire(orderId);
    expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
    expect(await desk.statusOf(orderId)).toBe('CLOSED');
    expect(await desk.openOf('r-found')).toMatchObject([{ id, reason: 'unknown-order', source: 'provider' }]);
    await desk.confirm(orderId, 'r-found');
    expect(await desk.openOf('r-found')).toHaveLength(1);
    expect(await assign(id, orderId)).toMatchObject({ code: 'UNMATCHED_PAYMENT_HANDLED', handling: 'settled' });
    expect(await desk.attemptsOf(orderId)).toEqual(['r-found SETTLED']);
    await settleRow('r-found');
    expect(await desk.rowsOf('r-found')).toEqual(['unknown-order settled']);
  });

  it('that was settled as a mere report stays shown to a person when its order registers and confirms it', async () => {
    await desk.report('nobody', 'r-shown');
    await settleRow('r-shown');
    await notify('r-shown');
    const orderId = await desk.placed({ attempt: desk.attempt('r-shown') });
    for (const repetition of [1, 2]) {
      await desk.confirm(orderId, 'r-shown');
      expect([repetition, await desk.attemptsOf(orderId)]).toEqual([repetition, ['r-shown SETTLED']]);
      expect(await desk.openOf('r-shown')).toMatchObject([{ reason: 'unknown-order', source: 'provider' }]);
    }
  });

  it('that was settled before its attempt was registered waits for nobody if its order has a part of the price', async () => {
    await notify('r-beside');
    await settleRow('r-beside');
    const orderId = await desk.placed({ attempt: desk.attempt('r-beside') });
    await desk.shop.register.execute({ orderId, ...desk.attempt('r-part') });
    await desk.confirm(orderId, 'r-part', 500);
    await desk.confirm(orderId, 'r-beside');
    expect((await desk.attemptsOf(orderId))?.sort()).toEqual(['r-beside SETTLED', 'r-part PAID']);
    expect([await desk.openOf('r-beside'), await desk.rowsOf('r-part')]).toEqual([[], ['amount-mismatch waiting']]);
  });

  it('that was settled as a mere report is shown to a person when its provider confirms it beside a part of the price', async () => {
    const orderId = await desk.placed({ attempt: desk.attempt('r-lie') });
    await desk.report(orderId, 'r-lie', 500);
    await settleRow('r-lie');
    await desk.shop.register.execute({ orderId, ...desk.attempt('r-rest') });
    await desk.confirm(orderId, 'r-rest', 500);
    await desk.confirm(orderId, 'r-lie', 500);
    expect((await desk.attemptsOf(orderId))?.sort()).toEqual(['r-lie SETTLED', 'r-rest PAID']);
    expect(await desk.openOf('r-lie')).toMatchObject([{ reason: 'amount-mismatch', source: 'provider' }]);
    await settleRow('r-lie');
    await desk.confirm(orderId, 'r-lie', 500);
    expect(await desk.rowsOf('r-lie')).toEqual(['amount-mismatch settled']);
  });

  it('that was settled before its attempt was registered is shown to a person if it is confirmed with another amount', async () => {
    await notify('r-grown');
    await settleRow('r-grown');
    const orderId = await desk.placed({ attempt: desk.attempt('r-grown') });
    expect(await desk.confirm(orderId, 'r-grown', 5_000)).toMatchObject({ outcome: 'amount-mismatch' });
    expect(await desk.statusOf(orderId)).toBe('PENDING');
    expect(await desk.openOf('r-grown')).toMatchObject([{ reason: 'unknown-order', amount: 5_000 }]);
  });

  it('that was settled before its attempt was registered revives its order if it is reopened after the end', async () => {
    await notify('r-ended');
    const id = await settleRow('r-ended');
    const orderId = await desk.placed({ attempt: desk.attempt('r-ended') });
    await desk.confirm(orderId, 'r-ended');
    await desk.expire(orderId);
    expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
    expect(await desk.statusOf(orderId)).toBe('CLOSED');
    expect(await reopen(id)).toMatchObject({ outcome: 'reopened', payment: { handling: 'adopted' } });
    expect(await desk.statusOf(orderId)).toBe('PAID');
    expect(await desk.rowsOf('r-ended')).toEqual(['unknown-order adopted', 'late adopted']);
  });

  it('that was settled pays no order by a report that names another transaction id', async () => {
    await notify('r-renamed');
    await settleRow('r-renamed');
    const orderId = await desk.placed({ attempt: desk.attempt('r-renamed') });
    const report = {
      orderId,
      ...desk.attempt('r-renamed'),
      amount: 1_999,
      currency: 'EUR',
      transactionId: 't-made-up',
    };
    expect(await desk.shop.markPaid.execute(report)).toMatchObject({ outcome: 'attempt-mismatch' });
    expect(await desk.statusOf(orderId)).toBe('PENDING');
    expect(await desk.openOf('r-renamed')).toMatchObject([{ reason: 'attempt-mismatch', source: 'report' }]);
    await desk.shop.markPaid.execute({ ...report, orderId: 'nobody' });
    expect(await desk.rowsOf('r-renamed')).toEqual(['unknown-order settled', 'attempt-mismatch kept']);
    // The provider tells of a second payment under this reference.
    await notify('r-renamed', 500n, 't-second');
    expect(await desk.openOf('t-second')).toMatchObject([{ amount: 500, reason: 'unknown-order' }]);
  });

  describe('while a person settles it', () => {
    const isBlocked = async (): Promise<boolean> =>
      (await sql(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`))
        .length > 0;
    /** Settles the row, and lets `work` run into its lock before the decision is committed. */
    const settleAgainst = async <T>(id: string, work: () => Promise<T>): Promise<T> => {
      const runner = desk.shop.dataSource.createQueryRunner();
      await runner.startTransaction('READ COMMITTED');
      await desk.shop.settleUnmatched.execute({ id, reason: 'paid back by wire' }, { by: ANNA, tx: runner.manager });
      const working = work();
      await until(isBlocked);
      await runner.commitTransaction();
      await runner.release();
      return working;
    };

    it('pays no order that would adopt it', async () => {
      const orderId = await desk.placed({ attempt: desk.attempt('r-race') });
      const id = await desk.unmatched('r-race');
      await settleAgainst(id, () => settle(desk.shop, [orderId]));
      expect(await desk.statusOf(orderId)).toBe('PENDING');
      expect(await desk.attemptsOf(orderId)).toEqual(['r-race OPEN']);
      expect(await desk.rowsOf('r-race')).toEqual(['unknown-order settled']);
    });

    it('pays no order whose provider confirms it under its other name', async () => {
      const orderId = await desk.placed({ attempt: desk.attempt('r-alias') });
      await notify('t-r-alias', 1_999n, 'r-alias');
      const [{ id } = { id: 'none' }] = await desk.openOf('t-r-alias');
      const confirmed = await settleAgainst(id, () => desk.confirm(orderId, 'r-alias'));
      expect(confirmed).toMatchObject({ outcome: 'amount-mismatch' });
      expect(await desk.attemptsOf(orderId)).toEqual(['r-alias SETTLED']);
      expect(await desk.rowsOf('t-r-alias')).toEqual(['unknown-order settled']);
    });
  });

  it('stays settled after its row is purged, and pays no order until it is reopened', async () => {
    await notify('r-nobody');
    const id = await settleRow('r-nobody');
    const orderId = await desk.placed({ attempt: desk.attempt('r-nobody') });
    expect(await desk.confirm(orderId, 'r-nobody')).toMatchObject({ outcome: 'amount-mismatch' });
    expect(await desk.attemptsOf(orderId)).toEqual(['r-nobody SETTLED']);
    expect(await desk.rowsOf('r-nobody')).toEqual(['unknown-order settled']);
    await desk.endTimeoutsOf(orderId);
    expect(await reopen(id)).toMatchObject({ outcome: 'reopened', payment: { handling: 'adopted' } });
    expect(await desk.kindsOf(orderId)).toEqual(['order.payment']);
    expect(await desk.attemptsOf(orderId)).toEqual(['r-nobody PAID']);
    expect(await settle(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
    expect(await desk.statusOf(orderId)).toBe('PAID');
    await notify('r-row-gone');
    await settleRow('r-row-gone');
    await sql(`DELETE FROM ${SCHEMA}.unmatched_payment WHERE reference = 'r-row-gone'`);
    await notify('r-row-gone');
    expect(await desk.openOf('r-row-gone')).toEqual([]);
  });

  it('leaves nothing behind that names it', async () => {
    await erase(await paid('r-nameless'));
    const rows = await sql<{ text: string }>(`SELECT h::text AS text FROM ${SCHEMA}.handled_payment h`);
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter(({ text }) => text.includes('r-nameless'))).toEqual([]);
  });
});
