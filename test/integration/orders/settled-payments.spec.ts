import { ORDER_LATE_WATCH } from '../../../src/orders/model/order-timeouts';
import { ErasePersonalData } from '../../../src/orders/retention/purge-orders';
import { ANNA, openDesk, type OperatorDesk } from './operator-desk';
import { dueOf, eventsOf, fill, purgeOf, reconcile, SCHEMA, settleUntilDone, stockOf } from './shop';

const DAY_MS = 86_400_000;

describe('a payment that a person has settled', () => {
  let desk: OperatorDesk;
  beforeAll(async () => {
    desk = await openDesk();
  });
  afterAll(() => desk.shop.database.drop());

  const idOf = async (reference: string, reason = 'late'): Promise<string> => {
    const [row] = await desk.shop.dataSource.query<{ id: string }[]>(
      `SELECT id FROM ${SCHEMA}.unmatched_payment WHERE reference = $1 AND reason = $2`,
      [reference, reason],
    );
    return row?.id ?? 'none';
  };
  const settlePayment = async (reference: string, reason = 'late') => {
    const settlement = { id: await idOf(reference, reason), reason: 'paid back by wire 4711' };
    expect(await desk.shop.settleUnmatched.execute(settlement, { by: ANNA })).toMatchObject({ outcome: 'settled' });
  };
  const reopen = async (reference: string, reason = 'late') =>
    desk.shop.unmatched.reopen({ id: await idOf(reference, reason), reason: 'the wire was returned' }, { by: ANNA });
  const refund = (orderId: string, reference: string) =>
    desk.shop.refund.execute({ orderId, ...desk.attempt(reference), reason: 'the buyer called' }, { by: ANNA });
  const revive = (orderId: string) => desk.shop.revive.execute({ orderId, reason: 'the buyer wants it' }, { by: ANNA });
  const refundsOf = (orderId: string) =>
    desk.shop.dataSource.query<object[]>(`SELECT 1 FROM ${SCHEMA}.refund WHERE order_id = $1`, [orderId]);
  const watch = async (orderId: string): Promise<void> => {
    const due = dueOf(orderId, { kind: ORDER_LATE_WATCH, payload: { since: new Date().toISOString() } });
    const answer = await desk.shop.watching.lookUp(due, new AbortController().signal);
    await desk.shop.dataSource.transaction((tx) => desk.shop.watching.handleBatch([{ ...due, answer }], tx));
  };
  const countEvents = async (id: string) => (await eventsOf(desk.shop, id)).length;
  const eventsAfter = async (id: string, seen: number) =>
    (await eventsOf(desk.shop, id)).slice(seen).map(({ routing_key, body }) => `${routing_key} ${String(body.reason)}`);
  /** A closed order without stock, whose late payment nobody confirms, so that it is kept. */
  const soldOut = async (sku: string, reference: string): Promise<string> => {
    await fill(desk.shop, { [sku]: 1 });
    const lines = [{ sku, quantity: 1, unitAmount: 1_999 }];
    const orderId = await desk.closed({ lines, attempt: desk.attempt(`${reference}-first`) });
    await fill(desk.shop, { [sku]: 0 });
    await desk.report(orderId, reference);
    await desk.shop.dataSource.query(`UPDATE ${SCHEMA}.payment_attempt SET registered = true WHERE reference = $1`, [
      reference,
    ]);
    expect(await desk.rowsOf(reference)).toEqual(['late kept']);
    return orderId;
  };
  const purgeRowsOf = async (reference: string): Promise<void> => {
    await desk.shop.dataSource.query(
      `UPDATE ${SCHEMA}.unmatched_payment SET created_at = now() - interval '90 days' WHERE reference = $1`,
      [reference],
    );
    await purgeOf(desk.shop, { settledMoneyMs: 30 * DAY_MS, idempotencyKeysMs: 0 }).runOnce();
  };
  const erase = (orderId: string) =>
    desk.shop.services.get(ErasePersonalData).execute({ orderId, reason: 'request 4711' }, { by: ANNA });
  const keptLate = async (reference: string): Promise<string> => {
    const orderId = await desk.closed({ merchantId: 'keeper' });
    await desk.confirm(orderId, reference);
    return orderId;
  };

  it('does not revive its order when stock arrives', async () => {
    const orderId = await soldOut('watched', 's-watch');
    await settlePayment('s-watch');
    await fill(desk.shop, { watched: 5 });
    await watch(orderId);
    expect(await desk.statusOf(orderId)).toBe('CLOSED');
    expect(await desk.rowsOf('s-watch')).toEqual(['late settled']);
    expect(await stockOf(desk.shop, 'watched')).toEqual({ onHand: 5, reserved: 0 });
  });

  it('does not revive its order when it is reported again', async () => {
    const orderId = await soldOut('again', 's-again');
    await settlePayment('s-again');
    await fill(desk.shop, { again: 5 });
    expect(await desk.report(orderId, 's-again')).toMatchObject({ outcome: 'late' });
    expect(await desk.statusOf(orderId)).toBe('CLOSED');
    expect(await desk.rowsOf('s-again')).toEqual(['late settled']);
  });

  it('that was only reported is shown to a person once its provider confirms it, and is not refunded', async () => {
    const orderId = await soldOut('noted', 's-noted');
    await settlePayment('s-noted');
    const seen = await countEvents(orderId);
    await desk.confirm(orderId, 's-noted');
    await desk.confirm(orderId, 's-noted');
    expect(await refundsOf(orderId)).toEqual([]);
    expect(await desk.statusOf(orderId)).toBe('CLOSED');
    expect(await desk.attemptsOf(orderId)).toContain('s-noted SETTLED');
    expect(await desk.openOf('s-noted')).toMatchObject([
      { reason: 'late', handling: 'kept', source: 'provider', resolvedAt: null, resolvedBy: null, resolution: null },
    ]);
    expect(await eventsAfter(orderId, seen)).toEqual(['order.payment_late late']);
  });

  it('stays settled when its provider repeats what it had confirmed', async () => {
    const orderId = await soldOut('once', 's-once');
    await settlePayment('s-once');
    await desk.confirm(orderId, 's-once');
    await settlePayment('s-once');
    const seen = await countEvents(orderId);
    await desk.confirm(orderId, 's-once');
    expect(await desk.rowsOf('s-once')).toEqual(['late settled']);
    expect(await eventsAfter(orderId, seen)).toEqual([]);
  });

  it('that was only reported is shown to a person if its provider confirms another amount', async () => {
    const orderId = await soldOut('more', 's-more');
    await settlePayment('s-more');
    await desk.confirm(orderId, 's-more', 5_000);
    expect(await refundsOf(orderId)).toEqual([]);
    expect(await desk.openOf('s-more')).toMatchObject([{ reason: 'late', handling: 'kept', amount: 5_000 }]);
    expect(await reopen('s-more')).toMatchObject({ outcome: 'reopened' });
    expect(await desk.attemptsOf(orderId)).toContain('s-more REFUNDING');
  });

  it('is shown to a person if its provider had confirmed another amount', async () => {
    const orderId = await keptLate('s-less');
    await settlePayment('s-less');
    await desk.confirm(orderId, 's-less', 5_000);
    expect(await refundsOf(orderId)).toEqual([]);
    expect(await desk.rowsOf('s-less')).toEqual(['late settled', 'attempt-mismatch kept']);
  });

  it('that was only reported is looked up when its provider tells of a change', async () => {
    const orderId = await soldOut('changed', 's-changed');
    await settlePayment('s-changed');
    desk.shop.provider.paid('s-changed');
    expect(await reconcile(desk.shop, orderId)).toEqual({ type: 'done' });
    expect(await desk.attemptsOf(orderId)).toContain('s-changed SETTLED');
    expect(await desk.openOf('s-changed')).toMatchObject([{ reason: 'late', handling: 'kept', source: 'provider' }]);
  });

  it('that was only reported is looked up and closed by the payment watch, because the buyer may still pay', async () => {
    const orderId = await soldOut('payable', 's-payable');
    await settlePayment('s-payable');
    expect(await desk.kindsOf(orderId)).toContain('order.late-watch');
    await watch(orderId);
    expect(desk.shop.provider.calls).toContain('close s-payable');
    expect(await desk.attemptsOf(orderId)).toContain('s-payable SETTLED');
    desk.shop.provider.paid('s-payable');
    await watch(orderId);
    expect(await desk.openOf('s-payable')).toMatchObject([{ reason: 'late', handling: 'kept', source: 'provider' }]);
    expect(await refundsOf(orderId)).toEqual([]);
  });

  it('is not refunded by a second operator', async () => {
    const orderId = await keptLate('s-second');
    await settlePayment('s-second');
    const refused = { outcome: 'rejected', code: 'UNMATCHED_PAYMENT_HANDLED', handling: 'settled' };
    expect(await refund(orderId, 's-second')).toMatchObject(refused);
    expect(await refund(orderId, 't-s-second')).toMatchObject(refused);
    expect(await refundsOf(orderId)).toEqual([]);
  });

  it('does not pay an order that is open: its part counts as nothing', async () => {
    const orderId = await desk.placed({ merchantId: 'parker' });
    await desk.confirm(orderId, 's-part', 1_000);
    await settlePayment('s-part', 'amount-mismatch');
    expect(await desk.confirm(orderId, 's-rest', 999)).toMatchObject({ outcome: 'amount-mismatch' });
    expect(await desk.statusOf(orderId)).toBe('PENDING');
    await settlePayment('s-rest', 'amount-mismatch');
    await desk.expire(orderId);
    expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
    expect(await desk.statusOf(orderId)).toBe('CLOSED');
    expect(await refundsOf(orderId)).toEqual([]);
  });

  it('that was only reported stays shown after its provider confirms it, although its order is paid then', async () => {
    const orderId = await desk.placed({ attempt: desk.attempt('s-told') });
    await desk.report(orderId, 's-told', 999);
    await settlePayment('s-told', 'amount-mismatch');
    await desk.confirm(orderId, 's-told', 999);
    expect(await desk.rowsOf('s-told')).toEqual(['amount-mismatch kept']);
    await desk.confirm(orderId, 's-instead', 1_999);
    expect(await desk.statusOf(orderId)).toBe('PAID');
    expect(await desk.rowsOf('s-told')).toEqual(['amount-mismatch kept']);
  });

  it('lets a parked order close', async () => {
    const orderId = await desk.placed({ merchantId: 'parker' });
    await desk.confirm(orderId, 's-parked', 1_000);
    await desk.expire(orderId);
    expect(await settleUntilDone(desk.shop, [orderId])).toMatchObject([{ type: 'park' }]);
    await desk.endTimeoutsOf(orderId);
    await settlePayment('s-parked', 'amount-mismatch');
    expect(await desk.kindsOf(orderId)).toContain('order.payment');
    expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
    expect(await desk.statusOf(orderId)).toBe('CLOSED');
  });

  it('as a surplus of a paid order is not refunded when it is confirmed again', async () => {
    const orderId = await desk.placed({ merchantId: 'keeper' });
    await desk.confirm(orderId, 's-needed');
    await desk.confirm(orderId, 's-surplus');
    await settlePayment('s-surplus', 'surplus');
    expect(await desk.confirm(orderId, 's-surplus')).toMatchObject({ outcome: 'already-paid' });
    expect(await refund(orderId, 's-surplus')).toMatchObject({ code: 'UNMATCHED_PAYMENT_HANDLED' });
    expect(await desk.attemptsOf(orderId)).toEqual(['s-needed PAID', 's-surplus SETTLED']);
  });

  it('by the row of a false report leaves the order the payment that pays it', async () => {
    const orderId = await desk.placed({ attempt: desk.attempt('s-true') });
    await desk.report(orderId, 's-claim');
    const claim = { orderId, ...desk.attempt('s-made-up'), amount: 1_999, currency: 'EUR', transactionId: 's-true' };
    expect(await desk.shop.markPaid.execute(claim)).toMatchObject({ outcome: 'surplus' });
    await reconcile(desk.shop, orderId, 600_000);
    expect(await desk.rowsOf('s-made-up')).toEqual(['surplus kept']);
    await desk.confirm(orderId, 's-true');
    expect(await desk.attemptsOf(orderId)).toContain('s-true PAID');
    // The release before left it open.
    await desk.shop.dataSource.query(
      `UPDATE ${SCHEMA}.unmatched_payment SET handling = 'kept' WHERE reference = 's-made-up'`,
    );
    await settlePayment('s-made-up', 'surplus');
    expect(await desk.attemptsOf(orderId)).toContain('s-true PAID');
  });

  it('by the row of a report that names the wrong attempt is shown under both attempts', async () => {
    const orderId = await desk.placed({ merchantId: 'parker', attempt: desk.attempt('s-right') });
    await desk.shop.register.execute({ orderId, ...desk.attempt('s-wrong') });
    const told = { amount: 1_500, currency: 'EUR', transactionId: 't-s-right' };
    await desk.shop.markPaid.execute({ orderId, ...desk.attempt('s-wrong'), ...told });
    await settlePayment('s-wrong', 'amount-mismatch');
    await desk.confirm(orderId, 's-right');
    expect((await desk.attemptsOf(orderId))?.sort()).toEqual(['s-right SETTLED', 's-wrong SETTLED']);
    expect(await desk.openOf('s-right')).toMatchObject([
      { reason: 'amount-mismatch', handling: 'kept', amount: 1_999 },
    ]);
    expect(await desk.rowsOf('s-wrong')).toEqual(['amount-mismatch settled']);
    desk.shop.provider.paid('s-wrong');
    await reconcile(desk.shop, orderId);
    expect(await desk.openOf('s-wrong')).toMatchObject([
      { reason: 'amount-mismatch', handling: 'kept', amount: 1_999 },
    ]);
    expect(await reopen('s-wrong', 'amount-mismatch')).toMatchObject({ outcome: 'reopened' });
    await settleUntilDone(desk.shop, [orderId]);
    expect(await desk.statusOf(orderId)).toBe('PAID');
  });

  it.each([
    ['price', 1_999, []],
    ['rest', 999, ['amount-mismatch kept']],
  ])('is not refunded and pays nothing if it is a part of a PAID order, before the %s', async (what, rest, rows) => {
    const [low, full, orderId] = [`s-low ${what}`, `s-full ${what}`, await desk.placed()];
    for (const one of [low, full]) await desk.shop.register.execute({ orderId, ...desk.attempt(one) });
    await desk.report(orderId, low, 1_999);
    await desk.confirm(orderId, low, 1_000);
    await settlePayment(low, 'amount-mismatch');
    expect(await refund(orderId, low)).toMatchObject({ code: 'UNMATCHED_PAYMENT_HANDLED' });
    await desk.confirm(orderId, full, rest);
    expect((await desk.attemptsOf(orderId))?.sort()).toEqual([`${full} PAID`, `${low} SETTLED`]);
    expect(await refundsOf(orderId)).toEqual([]);
    expect([await desk.rowsOf(low), await desk.rowsOf(full)]).toEqual([['amount-mismatch settled'], rows]);
  });

  it('leaves a paid order with too little, which a person is told', async () => {
    const orderId = await desk.placed({ attempt: desk.attempt('s-short') });
    await desk.shop.register.execute({ orderId, ...desk.attempt('s-false') });
    const tell = (reference: string, amount: number, transactionId: string) =>
      desk.shop.markPaid.execute({ orderId, currency: 'EUR', ...desk.attempt(reference), amount, transactionId });
    await tell('s-false', 1_500, 't-s-short');
    await settlePayment('s-false', 'amount-mismatch');
    await tell('s-short', 1_999, 't-s-false');
    await desk.confirm(orderId, 's-false');
    await settlePayment('s-false', 'amount-mismatch');
    expect((await desk.attemptsOf(orderId))?.sort()).toEqual(['s-false SETTLED', 's-short CLOSED']);
    desk.shop.provider.paid('s-short', 1_500n);
    await watch(orderId);
    expect(await desk.statusOf(orderId)).toBe('PAID');
    expect(await desk.openOf('s-short')).toMatchObject([
      { reason: 'amount-mismatch', handling: 'kept', amount: 1_500 },
    ]);
  });

  it('of another order stays shown in the order that it pays, after the other order is erased', async () => {
    const [payer, liar] = [await desk.placed({ attempt: desk.attempt('s-own') }), await desk.placed()];
    await desk.report(liar, 't-s-own', 500);
    await settlePayment('t-s-own', 'amount-mismatch');
    await desk.confirm(payer, 's-own');
    expect(await desk.rowsOf('s-own')).toEqual(['attempt-mismatch kept']);
    await desk.shop.cancel.execute({ orderId: liar });
    await settleUntilDone(desk.shop, [liar]);
    await desk.endTimeoutsOf(liar);
    await desk.shop.dataSource.query(`DELETE FROM ${SCHEMA}.outbox`);
    expect(await erase(liar)).toMatchObject({ outcome: 'erased' });
    // Looks at all payments of the order again.
    await desk.confirm(payer, 's-own');
    expect(await desk.rowsOf('s-own')).toEqual(['attempt-mismatch kept']);
  });

  it('counts as money again if a person reopens it', async () => {
    const orderId = await keptLate('s-back');
    expect(await reopen('s-back')).toMatchObject({ outcome: 'reopened' });
    await settlePayment('s-back');
    expect(await reopen('s-back')).toMatchObject({
      outcome: 'reopened',
      payment: { handling: 'kept', resolvedAt: null, resolvedBy: null, resolution: null },
    });
    const entry = { cause: 'operator', actor: 'anna', reason: 'the wire was returned' };
    expect(await desk.lastOf(orderId)).toMatchObject(entry);
    const length = (await desk.shop.history.execute(orderId)).length;
    expect(await reopen('s-back')).toMatchObject({ outcome: 'reopened' });
    expect(await desk.shop.history.execute(orderId)).toHaveLength(length);
    expect(await refund(orderId, 's-back')).toMatchObject({ outcome: 'refunding' });
    expect(await reopen('s-back')).toMatchObject({ code: 'UNMATCHED_PAYMENT_HANDLED', handling: 'refunding' });
    const missing = { id: '00000000-0000-4000-8000-000000000000', reason: 'none' };
    expect(await desk.shop.unmatched.reopen(missing)).toMatchObject({ code: 'UNMATCHED_PAYMENT_NOT_FOUND' });
  });

  it('of a parked order pays it after all if the rest arrives and a person reopens it', async () => {
    const orderId = await desk.placed({ merchantId: 'parker' });
    await desk.confirm(orderId, 's-half', 1_000);
    await settlePayment('s-half', 'amount-mismatch');
    await desk.confirm(orderId, 's-other-half', 999);
    await desk.expire(orderId);
    expect(await settleUntilDone(desk.shop, [orderId])).toMatchObject([{ type: 'park' }]);
    await desk.endTimeoutsOf(orderId);
    await reopen('s-half', 'amount-mismatch');
    expect(await desk.kindsOf(orderId)).toContain('order.payment');
    expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
    expect(await desk.statusOf(orderId)).toBe('PAID');
    expect(await desk.rowsOf('s-half')).toEqual(['amount-mismatch completed']);
  });

  it.each([true, false])('pays its open order at once if it is reopened; auto-close is %s', async (autoClose) => {
    const first = `s-at-once-${autoClose}`;
    const orderId = await desk.placed({ autoClose, attempt: desk.attempt(first) });
    await desk.confirm(orderId, first, 1_000);
    await settlePayment(first, 'amount-mismatch');
    await desk.confirm(orderId, `${first}-rest`, 999);
    await desk.endTimeoutsOf(orderId);
    await reopen(first, 'amount-mismatch');
    expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
    expect([await desk.kindsOf(orderId), await desk.statusOf(orderId)]).toEqual([['order.payment'], 'PAID']);
  });

  it('stays settled when its row is purged with the orders kept', async () => {
    const orderId = await keptLate('s-purged');
    await settlePayment('s-purged');
    await purgeRowsOf('s-purged');
    expect(await desk.rowsOf('s-purged')).toEqual(['late settled']);
    // The row of the release before, whose purge does not know better.
    await desk.shop.dataSource.query(`DELETE FROM ${SCHEMA}.unmatched_payment WHERE reference = 's-purged'`);
    expect(await revive(orderId)).toMatchObject({ code: 'UNMATCHED_PAYMENT_HANDLED' });
    await desk.confirm(orderId, 's-purged');
    expect(await desk.rowsOf('s-purged')).toEqual([]);
    expect(await refund(orderId, 's-purged')).toMatchObject({ code: 'UNMATCHED_PAYMENT_HANDLED' });
  });

  it.each(['provider', 'report'] as const)(
    'as the excess of a paid order is not refunded after its row is purged, if told of by a %s',
    async (source) => {
      const reference = `s-excess-${source}`;
      const orderId = await desk.placed({ merchantId: 'refunder', attempt: desk.attempt(reference) });
      desk.shop.provider.refundsInPart = false;
      await (source === 'report' ? desk.report : desk.confirm)(orderId, reference, 2_999);
      desk.shop.provider.refundsInPart = true;
      await settlePayment(reference, 'overpaid');
      await purgeRowsOf(reference);
      await desk.confirm(orderId, reference, 2_999);
      expect(await refundsOf(orderId)).toEqual([]);
    },
  );

  it('as the excess of a paid order is not refunded with the rest of its payment, unless it is reopened', async () => {
    for (const isReopened of [false, true]) {
      const reference = `s-rest-${isReopened}`;
      const orderId = await desk.placed({ attempt: desk.attempt(reference) });
      await desk.shop.register.execute({ orderId, ...desk.attempt(`${reference}-other`) });
      await desk.confirm(orderId, reference, 2_999);
      await settlePayment(reference, 'overpaid');
      if (isReopened) await reopen(reference, 'overpaid');
      await desk.shop.dataSource.query(
        `UPDATE ${SCHEMA}.payment_attempt SET paid_at = now() + interval '1 minute' WHERE reference = $1`,
        [reference],
      );
      await desk.confirm(orderId, `${reference}-other`);
      const refunds = await desk.shop.dataSource.query<object[]>(
        `SELECT reference, amount::int FROM ${SCHEMA}.refund WHERE order_id = $1`,
        [orderId],
      );
      expect(refunds).toEqual([{ reference, amount: isReopened ? 2_999 : 1_999 }]);
    }
  });

  it('does not pay an order that reports it, although its provider had stated no amount', async () => {
    const id = await desk.unmatched('s-odd', 0, 'XXX');
    await desk.shop.dataSource.query(`UPDATE ${SCHEMA}.unmatched_payment SET reason = 'invalid-amount' WHERE id = $1`, [
      id,
    ]);
    await settlePayment('s-odd', 'invalid-amount');
    const orderId = await desk.placed();
    expect(await desk.report(orderId, 's-odd')).toMatchObject({ outcome: 'attempt-mismatch' });
    expect([await desk.statusOf(orderId), await desk.attemptsOf(orderId)]).toEqual(['PENDING', []]);
  });

  describe('that came long before the order whose attempt it names', () => {
    /** It has a row of its own, and one that names the order. */
    const refused = async (reference: string): Promise<string> => {
      await desk.unmatched(reference);
      await desk.shop.dataSource.query(
        `UPDATE ${SCHEMA}.unmatched_payment SET created_at = now() - interval '1 hour' WHERE reference = $1`,
        [reference],
      );
      const orderId = await desk.placed({ attempt: desk.attempt(reference) });
      expect(await desk.confirm(orderId, reference)).toMatchObject({ outcome: 'attempt-mismatch' });
      expect((await desk.rowsOf(reference)).sort()).toEqual(['attempt-mismatch kept', 'unknown-order kept']);
      return orderId;
    };
    const assign = async (reference: string, orderId: string) =>
      desk.shop.assign.execute(
        { id: await idOf(reference, 'unknown-order'), orderId, reason: 'the receipt names it' },
        { by: ANNA },
      );

    it.each(['unknown-order', 'attempt-mismatch'])('is settled in both rows by the one %s', async (reason) => {
      const reference = `s-twin-${reason}`;
      const orderId = await refused(reference);
      await desk.expire(orderId);
      await desk.endTimeoutsOf(orderId);
      await settlePayment(reference, reason);
      expect(await desk.kindsOf(orderId)).toEqual(['order.payment']);
      expect((await desk.rowsOf(reference)).sort()).toEqual(['attempt-mismatch settled', 'unknown-order settled']);
      expect(await assign(reference, orderId)).toMatchObject({ code: 'UNMATCHED_PAYMENT_HANDLED' });
      desk.shop.provider.paid(reference);
      expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
      expect([await desk.statusOf(orderId), await desk.attemptsOf(orderId)]).toEqual([
        'CLOSED',
        [`${reference} SETTLED`],
      ]);
    });

    it.each(['unknown-order', 'attempt-mismatch'])('is reopened in both rows by the one %s', async (reason) => {
      const reference = `s-untwin-${reason}`;
      const orderId = await refused(reference);
      await settlePayment(reference, 'attempt-mismatch');
      expect(await reopen(reference, reason)).toMatchObject({ outcome: 'reopened' });
      expect((await desk.rowsOf(reference)).sort()).toEqual(['attempt-mismatch kept', 'unknown-order kept']);
      expect(await assign(reference, orderId)).toMatchObject({ outcome: 'assigned', booked: 'paid' });
    });
  });
});
