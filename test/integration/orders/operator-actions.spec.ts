import { PAYMENT_REFUND } from '../../../src/orders';
import { refundNumber } from '../../../src/orders/model/unmatched-money';
import { ORDER_LATE_WATCH, ORDER_PAYMENT } from '../../../src/orders/model/order-timeouts';
import { type DueTimeout } from '../../../src/timeouts';
import { ANNA, openDesk, type OperatorDesk } from './operator-desk';
import { dueOf, eventsOf, reconcile, SCHEMA, settle, settleUntilDone, stockOf, timeoutsOf } from './shop';

describe('the decisions of an operator about an order', () => {
  let desk: OperatorDesk;
  beforeAll(async () => {
    desk = await openDesk();
  });
  afterAll(() => desk.shop.database.drop());

  const rare = { lines: [{ sku: 'rare', quantity: 1, unitAmount: 1_999 }] };
  const refund = (orderId: string, reference: string, by = ANNA) =>
    desk.shop.refund.execute({ orderId, ...desk.attempt(reference), reason: 'the buyer called' }, { by });
  const revive = (orderId: string) => desk.shop.revive.execute({ orderId, reason: 'the buyer wants it' }, { by: ANNA });
  const close = (orderId: string, attemptsAreClosed?: boolean) =>
    desk.shop.close.execute({ orderId, reason: 'the buyer is gone', attemptsAreClosed }, { by: ANNA });
  const keptLate = async (reference: string, overrides = {}): Promise<string> => {
    const orderId = await desk.closed({ merchantId: 'keeper', ...overrides });
    await desk.confirm(orderId, reference);
    return orderId;
  };
  const refundsOf = (orderId: string) =>
    desk.shop.dataSource.query<{ reason: string; requested_by: string }[]>(
      `SELECT reason, requested_by FROM ${SCHEMA}.refund WHERE order_id = $1`,
      [orderId],
    );
  const finish = async (reference: string) => {
    const due = dueOf(refundNumber(desk.attempt(reference)), { kind: PAYMENT_REFUND }) as DueTimeout<never>;
    const answer = (await desk.shop.refunding.lookUp(due, new AbortController().signal)) as never;
    await desk.shop.dataSource.transaction((tx) => desk.shop.refunding.handleBatch([{ ...due, answer }], tx));
  };

  describe('a refund', () => {
    it('of kept money is processed as usual, and clears the alert', async () => {
      const orderId = await keptLate('kept');
      expect(await desk.openOf('kept')).toHaveLength(1);
      expect(await refund(orderId, 'kept')).toMatchObject({ outcome: 'refunding', order: { status: 'REFUNDING' } });
      expect(await desk.openOf('kept')).toEqual([]);
      expect(await desk.rowsOf('kept')).toEqual(['late refunding']);
      expect(await refundsOf(orderId)).toEqual([{ reason: 'operator', requested_by: 'anna' }]);
      const entry = { cause: 'operator', actor: 'anna', reason: 'the buyer called' };
      expect(await desk.lastOf(orderId)).toMatchObject({ ...entry, from: 'CLOSED', to: 'REFUNDING' });
      expect((await eventsOf(desk.shop, orderId)).at(-1)?.body).toMatchObject({ reason: 'operator' });
      expect(await refund(orderId, 't-kept')).toMatchObject({ outcome: 'refunding' });
      await finish('kept');
      expect(await refund(orderId, 'kept')).toMatchObject({
        outcome: 'refunded',
        order: { status: 'CLOSED_REFUNDED' },
      });
      expect(desk.shop.provider.refunds.filter((one) => one.attempt.reference === 'kept')).toHaveLength(1);
    });

    it('by two operators at the same time is one refund with one entry in the history', async () => {
      const orderId = await keptLate('kept-twice');
      const results = await Promise.all([refund(orderId, 'kept-twice'), refund(orderId, 'kept-twice')]);
      expect(results.map(({ outcome }) => outcome)).toEqual(['refunding', 'refunding']);
      expect(await refundsOf(orderId)).toHaveLength(1);
      const entries = (await desk.shop.history.execute(orderId)).filter(({ reason }) => reason === 'the buyer called');
      expect(entries).toHaveLength(1);
    });

    it('of a sold order is limited to payments that it does not need', async () => {
      const orderId = await desk.placed({ merchantId: 'keeper' });
      await desk.confirm(orderId, 'needed');
      expect(await refund(orderId, 'needed')).toMatchObject({ code: 'PAYMENT_NEEDED', status: 'PAID' });
      await desk.confirm(orderId, 'spare');
      expect(await desk.rowsOf('spare')).toEqual(['surplus kept']);
      expect(await refund(orderId, 'spare')).toMatchObject({ outcome: 'refunding', order: { status: 'PAID' } });
      expect(await desk.rowsOf('spare')).toEqual(['surplus refunding']);
      expect(await desk.lastOf(orderId)).toMatchObject({ from: 'PAID', to: 'PAID', reason: 'the buyer called' });
      expect(await refund(orderId, 'needed')).toMatchObject({ code: 'PAYMENT_NEEDED' });
    });

    it('of a sold order is rejected if only a report would be left to pay it', async () => {
      const orderId = await desk.placed({ merchantId: 'keeper' });
      await desk.confirm(orderId, 'certain');
      await desk.report(orderId, 'claimed');
      expect(await refund(orderId, 'certain')).toMatchObject({ code: 'PAYMENT_NEEDED' });
    });

    it('of a partial payment lets a parked order close', async () => {
      const before = await stockOf(desk.shop, 'apple');
      const orderId = await desk.placed({ merchantId: 'parker' });
      await desk.confirm(orderId, 'part', 1_000);
      await desk.expire(orderId);
      expect(await settle(desk.shop, [orderId])).toMatchObject([{ type: 'park' }]);
      await desk.shop.scheduler.schedule([{ kind: ORDER_PAYMENT, key: orderId, dueAt: new Date() }]);
      await desk.shop.dataSource.query(`UPDATE ${SCHEMA}.timeout SET state = 'parked' WHERE key = $1`, [orderId]);
      expect(await refund(orderId, 'part')).toMatchObject({ outcome: 'refunding', order: { status: 'PENDING' } });
      expect(await desk.rowsOf('part')).toEqual(['amount-mismatch refunding']);
      expect(await desk.shop.scheduler.find({ kind: ORDER_PAYMENT, key: orderId })).toMatchObject({ state: 'pending' });
      expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
      expect(await desk.statusOf(orderId)).toBe('CLOSED');
      expect(await stockOf(desk.shop, 'apple')).toEqual(before);
      await finish('part');
      expect(await desk.attemptsOf(orderId)).toEqual(['part REFUNDED']);
    });

    it('of a partial payment does not change an order without auto-close', async () => {
      const orderId = await desk.placed({ autoClose: false });
      await desk.confirm(orderId, 'left-alone', 1_000);
      await desk.expire(orderId);
      const before = await timeoutsOf(desk.shop, orderId);
      expect(await refund(orderId, 'left-alone')).toMatchObject({ outcome: 'refunding' });
      expect(await timeoutsOf(desk.shop, orderId)).toEqual(before);
    });

    it('of a reported payment looks it up at the provider, outside of any transaction', async () => {
      const orderId = await desk.closed({ merchantId: 'keeper' });
      await desk.report(orderId, 'reported');
      const open: number[] = [];
      desk.shop.provider.answerQuery('reported', async () => {
        open.push(await desk.shop.provider.openTransactions());
        return { type: 'NOT_FOUND' };
      });
      const refused = await refund(orderId, 'reported');
      expect(refused).toMatchObject({
        code: 'PAYMENT_NOT_CONFIRMED',
        says: 'it was reported as paid, but the provider says NOT_FOUND',
      });
      expect(open).toEqual([0]);
      expect(await refundsOf(orderId)).toEqual([]);
      desk.shop.provider.paid('reported', 1_500n);
      expect(await refund(orderId, 'reported')).toMatchObject({ outcome: 'refunding' });
      await finish('reported');
      expect(desk.shop.provider.refunds.at(-1)).toMatchObject({ amount: 1_500n, reason: 'operator' });
    });

    it('is rejected for a payment that another order counts on, and for one that does not exist', async () => {
      const orderId = await keptLate('shared');
      const other = await desk.placed({ attempt: desk.attempt('other-name') });
      await desk.shop.dataSource.query(
        `UPDATE ${SCHEMA}.payment_attempt SET status = 'PAID', paid_amount = 1999, paid_currency = 'EUR',
                paid_at = now(), transaction_id = 't-shared', paid_source = 'provider' WHERE reference = 'other-name'`,
      );
      expect(await refund(orderId, 'shared')).toMatchObject({ code: 'PAYMENT_TAKEN' });
      expect(await refund(other, 'nothing')).toMatchObject({ code: 'PAYMENT_NOT_FOUND', reference: 'nothing' });
      expect(await refund('nowhere', 'nothing')).toMatchObject({ code: 'ORDER_NOT_FOUND' });
      await expect(refund(orderId, '')).rejects.toThrow(/reference/);
    });

    it.each([true, false])(
      'leaves no open row of a payment that is needed then; registered: %s',
      async (registered) => {
        const [first, second] = [`needed-1-${registered}`, `needed-2-${registered}`];
        const orderId = await desk.placed({ merchantId: 'keeper', attempt: desk.attempt(first) });
        if (registered) await desk.shop.register.execute({ orderId, ...desk.attempt(second) });
        await desk.confirm(orderId, first);
        await desk.confirm(orderId, second);
        expect(await desk.rowsOf(second)).toEqual(['surplus kept']);
        expect(await refund(orderId, first)).toMatchObject({ outcome: 'refunding', order: { status: 'PAID' } });
        expect(await desk.rowsOf(second)).toEqual(['surplus adopted']);
      },
    );
  });

  it('is not asked about a payment that the order needs, because another one was less than reported', async () => {
    const orderId = await desk.placed({ merchantId: 'keeper', attempt: desk.attempt('less') });
    await desk.shop.register.execute({ orderId, ...desk.attempt('enough') });
    await desk.report(orderId, 'less', 1_999);
    await desk.report(orderId, 'enough', 1_999);
    await reconcile(desk.shop, orderId, 900_000);
    expect(await desk.rowsOf('enough')).toEqual(['surplus kept']);
    await desk.confirm(orderId, 'less', 1_000);
    // Before, the provider had denied it for 15 minutes.
    expect(await desk.rowsOf('less')).toEqual(['attempt-mismatch kept', 'surplus kept']);
    expect(await desk.rowsOf('enough')).toEqual(['surplus adopted']);
  });

  it('is asked about the later payment if the earlier one, which was settled, counts again', async () => {
    const row = { id: await desk.unmatched('came-back'), reason: 'paid back by wire' };
    expect(await desk.shop.settleUnmatched.execute(row, { by: ANNA })).toMatchObject({ outcome: 'settled' });
    const orderId = await desk.placed({ merchantId: 'keeper', attempt: desk.attempt('came-back') });
    await desk.shop.register.execute({ orderId, ...desk.attempt('later') });
    await desk.confirm(orderId, 'came-back');
    await desk.confirm(orderId, 'later');
    expect((await desk.attemptsOf(orderId))?.sort()).toEqual(['came-back SETTLED', 'later PAID']);
    expect(await desk.shop.unmatched.reopen(row, { by: ANNA })).toMatchObject({ outcome: 'reopened' });
    expect(await desk.rowsOf('came-back')).toEqual(['unknown-order adopted']);
    const [open] = await desk.openOf('later');
    expect(open).toMatchObject({ reason: 'surplus', handling: 'kept', orderId });
    const settlement = { id: open?.id ?? '', reason: 'paid back, too' };
    expect(await desk.shop.settleUnmatched.execute(settlement, { by: ANNA })).toMatchObject({ outcome: 'settled' });
    expect((await desk.attemptsOf(orderId))?.sort()).toEqual(['came-back PAID', 'later SETTLED']);
  });

  it('is asked about no part any more if a part that was settled counts again, and the order has enough', async () => {
    const orderId = await desk.placed({ merchantId: 'keeper', attempt: desk.attempt('part-back') });
    await desk.shop.register.execute({ orderId, ...desk.attempt('part-rest') });
    await desk.report(orderId, 'part-back', 1_999);
    await desk.confirm(orderId, 'part-back', 1_000);
    const [part] = await desk.openOf('part-back');
    const row = { id: part?.id ?? '', reason: 'paid back by wire' };
    expect(await desk.shop.settleUnmatched.execute(row, { by: ANNA })).toMatchObject({ outcome: 'settled' });
    await desk.confirm(orderId, 'part-rest', 999);
    expect(await desk.rowsOf('part-rest')).toEqual(['amount-mismatch kept']);
    expect(await desk.shop.unmatched.reopen(row, { by: ANNA })).toMatchObject({ outcome: 'reopened' });
    expect(await desk.rowsOf('part-back')).toEqual(['amount-mismatch completed']);
    expect(await desk.rowsOf('part-rest')).toEqual(['amount-mismatch completed']);
    expect(await desk.shop.settleUnmatched.execute(row, { by: ANNA })).toMatchObject({
      code: 'UNMATCHED_PAYMENT_HANDLED',
    });
  });

  describe('a revival', () => {
    it('sells a closed order whose money was kept, and clears the alert', async () => {
      const before = await stockOf(desk.shop, 'apple');
      const orderId = await keptLate('revived');
      expect(await revive(orderId)).toMatchObject({ outcome: 'revived', order: { status: 'PAID' } });
      expect(await stockOf(desk.shop, 'apple')).toEqual({ onHand: before.onHand - 1, reserved: before.reserved });
      expect(await desk.rowsOf('revived')).toEqual(['late revived']);
      const entry = { cause: 'operator', actor: 'anna', reason: 'the buyer wants it', from: 'CLOSED', to: 'PAID' };
      expect(await desk.lastOf(orderId)).toMatchObject(entry);
      expect((await eventsOf(desk.shop, orderId)).map((event) => event.body['reason'])).toEqual([
        'expired',
        'late',
        'revived',
      ]);
      expect(await revive(orderId)).toMatchObject({ outcome: 'already-paid' });
    });

    it('by a registered payment says who has revived it, too', async () => {
      const orderId = await keptLate('revived-by', { attempt: desk.attempt('revived-by') });
      expect(await revive(orderId)).toMatchObject({ outcome: 'revived' });
      const sql = `SELECT reason, handling, resolved_by FROM ${SCHEMA}.unmatched_payment WHERE order_id = $1`;
      const revived = { reason: 'late', handling: 'revived', resolved_by: 'anna' };
      expect(await desk.shop.dataSource.query(sql, [orderId])).toEqual([revived]);
    });

    it('is rejected if the goods are sold, and changes nothing', async () => {
      const orderId = await keptLate('goods-gone', rare);
      const winner = await desk.placed(rare);
      const shortages = [{ sku: 'rare', wanted: 1, available: 0 }];
      expect(await revive(orderId)).toEqual({ outcome: 'rejected', code: 'OUT_OF_STOCK', shortages });
      expect(await desk.rowsOf('goods-gone')).toEqual(['late kept']);
      expect(await stockOf(desk.shop, 'rare')).toEqual({ onHand: 1, reserved: 1 });
      await close(winner);
      const results = await Promise.all([revive(orderId), revive(orderId)]);
      expect(results.map(({ outcome }) => outcome).sort()).toEqual(['already-paid', 'revived']);
      expect(await stockOf(desk.shop, 'rare')).toEqual({ onHand: 0, reserved: 0 });
    });

    it('is rejected for too little money, for money of another order, and for a canceled order', async () => {
      const part = await desk.closed({ merchantId: 'keeper' });
      await desk.confirm(part, 'late-part', 1_000);
      expect(await revive(part)).toMatchObject({ code: 'PAYMENT_INSUFFICIENT' });
      const cancelled = await desk.placed({ merchantId: 'keeper' });
      await desk.shop.cancel.execute({ orderId: cancelled });
      await desk.confirm(cancelled, 'late-cancelled');
      expect(await revive(cancelled)).toMatchObject({ code: 'ORDER_NOT_REVIVABLE', status: 'CANCELLED' });
      const shared = await keptLate('late-shared');
      const owner = await desk.placed();
      await desk.confirm(owner, 'owner-name');
      await desk.shop.dataSource.query(
        `UPDATE ${SCHEMA}.payment_attempt SET transaction_id = 't-late-shared' WHERE reference = 'owner-name'`,
      );
      expect(await revive(shared)).toMatchObject({ code: 'PAYMENT_TAKEN' });
      expect(await revive('nowhere')).toMatchObject({ code: 'ORDER_NOT_FOUND' });
    });
  });

  it('revive no order by a payment that a person has settled', async () => {
    const orderId = await keptLate('given-back');
    const [row] = await desk.openOf('given-back');
    const settlement = { id: row?.id ?? 'none', reason: 'given back at the bank' };
    expect(await desk.shop.settleUnmatched.execute(settlement, { by: ANNA })).toMatchObject({ outcome: 'settled' });
    expect(await revive(orderId)).toEqual({
      outcome: 'rejected',
      code: 'UNMATCHED_PAYMENT_HANDLED',
      handling: 'settled',
    });
    expect(await desk.statusOf(orderId)).toBe('CLOSED');
    expect(await desk.rowsOf('given-back')).toEqual(['late settled']);
  });

  describe('a close', () => {
    it('ends an order without attempts immediately, before its deadline and with auto-close off', async () => {
      const before = await stockOf(desk.shop, 'apple');
      const orderId = await desk.placed({ autoClose: false });
      expect(await close(orderId)).toMatchObject({ outcome: 'closed', order: { status: 'CLOSED' } });
      expect(await stockOf(desk.shop, 'apple')).toEqual(before);
      const entry = { cause: 'operator', actor: 'anna', reason: 'the buyer is gone', to: 'CLOSED' };
      expect(await desk.lastOf(orderId)).toMatchObject(entry);
      expect((await eventsOf(desk.shop, orderId)).map((event) => event.routing_key)).toEqual(['order.closed']);
      expect(await close(orderId)).toMatchObject({ outcome: 'already-closed' });
      const overdue = await desk.placed();
      await close(overdue);
      expect(await desk.kindsOf(overdue)).toEqual([]);
    });

    it('has open attempts closed at their providers first, with auto-close off too', async () => {
      const orderId = await desk.placed({ autoClose: false, attempt: desk.attempt('still-open') });
      expect(await close(orderId)).toMatchObject({ outcome: 'closing', order: { status: 'CLOSING' } });
      expect(desk.shop.woken).toContainEqual({ kind: ORDER_PAYMENT, key: orderId });
      expect(await desk.kindsOf(orderId)).toEqual([ORDER_PAYMENT]);
      expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
      expect(await desk.statusOf(orderId)).toBe('CLOSED');
      expect(desk.shop.provider.calls).toContain('close still-open');
    });

    it('leaves the order PAID if the buyer paid first', async () => {
      const orderId = await desk.placed({ attempt: desk.attempt('quicker') });
      await close(orderId);
      desk.shop.provider.paid('quicker');
      await settleUntilDone(desk.shop, [orderId]);
      expect(await desk.statusOf(orderId)).toBe('PAID');
    });

    it('restarts a parked closing', async () => {
      const orderId = await desk.placed({ attempt: desk.attempt('parked') });
      await close(orderId);
      await desk.shop.dataSource.query(`UPDATE ${SCHEMA}.timeout SET state = 'parked' WHERE key = $1`, [orderId]);
      expect(await close(orderId)).toMatchObject({ outcome: 'closing' });
      const timeout = await desk.shop.scheduler.find({ kind: ORDER_PAYMENT, key: orderId });
      expect(timeout).toMatchObject({ state: 'pending' });
    });

    it('trusts the declaration that no attempt can be paid, and still watches the attempts', async () => {
      const orderId = await desk.placed({ attempt: desk.attempt('declared') });
      await close(orderId);
      await desk.shop.dataSource.query(`UPDATE ${SCHEMA}.timeout SET state = 'parked' WHERE key = $1`, [orderId]);
      const calls = desk.shop.provider.calls.length;
      expect(await close(orderId, true)).toMatchObject({ outcome: 'closed' });
      expect(desk.shop.provider.calls).toHaveLength(calls);
      expect(await desk.kindsOf(orderId)).toEqual([ORDER_LATE_WATCH]);
      const [attempt] = await desk.shop.dataSource.query<object[]>(
        `SELECT status, evidence FROM ${SCHEMA}.payment_attempt WHERE reference = 'declared'`,
      );
      expect(attempt).toEqual({ status: 'CLOSED', evidence: { declaredBy: 'anna', reason: 'the buyer is gone' } });
      expect((await desk.lastOf(orderId))?.evidence).toEqual({ declaredClosed: [desk.attempt('declared')] });
      // The declaration was wrong.
      desk.shop.provider.paid('declared');
      const due = dueOf(orderId, { kind: ORDER_LATE_WATCH, payload: { since: new Date().toISOString() } });
      const answer = await desk.shop.watching.lookUp(due, new AbortController().signal);
      await desk.shop.dataSource.transaction((tx) => desk.shop.watching.handleBatch([{ ...due, answer }], tx));
      expect(await desk.statusOf(orderId)).toBe('PAID');
    });

    it('is rejected while the order holds money, whatever is declared', async () => {
      const orderId = await desk.placed({ attempt: desk.attempt('unpaid-rest') });
      await desk.report(orderId, 'held', 1_000);
      for (const declared of [false, true]) {
        expect(await close(orderId, declared)).toMatchObject({
          code: 'ORDER_HAS_MONEY',
          payments: [desk.attempt('held')],
        });
      }
      const sold = await desk.placed();
      await desk.confirm(sold, 'sold');
      expect(await close(sold)).toMatchObject({ code: 'ORDER_NOT_CLOSABLE', status: 'PAID' });
      expect(await close('nowhere')).toMatchObject({ code: 'ORDER_NOT_FOUND' });
    });

    it('of a cancellation in progress ends as a cancellation', async () => {
      const orderId = await desk.placed({ attempt: desk.attempt('cancelling') });
      await desk.shop.cancel.execute({ orderId });
      expect(await close(orderId, true)).toMatchObject({ order: { status: 'CANCELLED' } });
    });

    it('happens once if it coincides with the deadline', async () => {
      const before = await stockOf(desk.shop, 'apple');
      const ids = await Promise.all(Array.from({ length: 10 }, () => desk.placed()));
      await Promise.all(ids.map(desk.expire));
      await Promise.all([...ids.map((id) => close(id)), settle(desk.shop, ids), ...ids.map((id) => close(id))]);
      expect(await stockOf(desk.shop, 'apple')).toEqual(before);
      for (const id of ids) {
        const steps = (await desk.shop.history.execute(id)).filter(({ to }) => to === 'CLOSED');
        expect(steps).toHaveLength(1);
      }
    });
  });
});
