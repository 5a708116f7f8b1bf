import { ANNA, openDesk, type OperatorDesk } from './operator-desk';
import { SCHEMA, settleUntilDone } from './shop';

describe('a payment that does not pay its order by itself', () => {
  let desk: OperatorDesk;
  beforeAll(async () => {
    desk = await openDesk();
  });
  afterAll(() => desk.shop.database.drop());

  const decide = async (what: 'settle' | 'reopen', reference: string, reason: string): Promise<string> => {
    const rows = await desk.shop.dataSource.query<{ id: string }[]>(
      `SELECT id FROM ${SCHEMA}.unmatched_payment WHERE reference = $1 AND reason = $2`,
      [reference, reason],
    );
    const result = await desk.shop.unmatched[what]({ id: rows[0]?.id ?? '', reason: 'wire 4711' }, { by: ANNA });
    expect(result.outcome).toBe(what === 'settle' ? 'settled' : 'reopened');
    return 'payment' in result ? result.payment.handling : '';
  };

  const dollars = (orderId: string, reference: string) => {
    const usd = { orderId, ...desk.attempt(reference), amount: 500, currency: 'USD', transactionId: `t-${reference}` };
    return desk.shop.markPaid.confirm(usd, { cause: 'notify' }, { account: null });
  };

  it('pays a paid order that had too little together with the rest, and leaves no row open', async () => {
    const orderId = await desk.placed({ attempt: desk.attempt('p-less') });
    await desk.report(orderId, 'p-less');
    await desk.confirm(orderId, 'p-less', 1_000);
    expect(await desk.rowsOf('p-less')).toEqual(['amount-mismatch kept']);
    expect(await desk.confirm(orderId, 'p-rest', 999)).toMatchObject({ outcome: 'paid' });
    expect(await desk.rowsOf('p-less')).toEqual(['amount-mismatch completed']);
    expect(await desk.rowsOf('p-rest')).toEqual([]);
    expect(await desk.confirm(orderId, 'p-rest', 999)).toMatchObject({ outcome: 'already-paid' });
  });

  it('in another currency has one open row when its order is paid, so that nobody pays it back twice', async () => {
    const orderId = await desk.placed({ merchantId: 'keeper', autoClose: false, attempt: desk.attempt('p-usd') });
    await dollars(orderId, 'p-usd');
    await desk.confirm(orderId, 'p-part', 999);
    expect([await desk.rowsOf('p-usd'), await desk.rowsOf('p-part')]).toEqual([
      ['currency-mismatch kept'],
      ['amount-mismatch kept'],
    ]);
    expect(await desk.confirm(orderId, 'p-eur', 1_000)).toMatchObject({ outcome: 'paid' });
    expect(await desk.rowsOf('p-usd')).toEqual(['currency-mismatch completed', 'surplus kept']);
    expect(await desk.rowsOf('p-part')).toEqual(['amount-mismatch completed']);
  });

  it('keeps its reason when a part in another currency follows, and waits for nothing once auto-close is off', async () => {
    const orderId = await desk.placed({ attempt: desk.attempt('p-first') });
    await desk.confirm(orderId, 'p-first', 500);
    expect(await dollars(orderId, 'p-second')).toMatchObject({ outcome: 'currency-mismatch' });
    const rows = async () => [await desk.rowsOf('p-first'), await desk.rowsOf('p-second')];
    expect(await rows()).toEqual([['amount-mismatch waiting'], ['currency-mismatch waiting']]);
    await desk.shop.setAutoClose.execute({ orderId, enabled: false });
    expect(await rows()).toEqual([['amount-mismatch kept'], ['currency-mismatch kept']]);
  });

  it('has one row after its deadline, whatever currencies the other parts have', async () => {
    const orderId = await desk.placed({ merchantId: 'parker', attempt: desk.attempt('p-parked') });
    await desk.confirm(orderId, 'p-parked', 500);
    await dollars(orderId, 'p-beside');
    await desk.expire(orderId);
    expect(await settleUntilDone(desk.shop, [orderId])).toMatchObject([{ type: 'park' }]);
    const rows = [await desk.rowsOf('p-parked'), await desk.rowsOf('p-beside')];
    expect(rows).toEqual([['amount-mismatch kept'], ['currency-mismatch kept']]);
  });

  it.each([
    ['EUR', 'currency-mismatch', 'amount-mismatch'],
    ['USD', 'amount-mismatch', 'currency-mismatch'],
  ])('has one open row if the provider says that a report named the wrong currency: %s', async (currency, was, is) => {
    const reference = `p-in-${currency}`;
    const orderId = await desk.placed({ autoClose: false, attempt: desk.attempt(reference) });
    const reported = { orderId, ...desk.attempt(reference), amount: 500, currency: currency === 'EUR' ? 'USD' : 'EUR' };
    expect(await desk.shop.markPaid.execute(reported)).toMatchObject({ outcome: was });
    await desk.shop.markPaid.confirm({ ...reported, currency }, { cause: 'notify' }, { account: null });
    expect(await desk.openOf(reference)).toMatchObject([{ reason: is, currency, source: 'provider' }]);
  });

  it('that a person settles has no other row open, by which it would be paid back again', async () => {
    const orderId = await desk.placed({ merchantId: 'keeper', attempt: desk.attempt('p-two') });
    await desk.confirm(orderId, 'p-two', 500);
    await decide('settle', 'p-two', 'amount-mismatch');
    await desk.expire(orderId);
    await settleUntilDone(desk.shop, [orderId]);
    await decide('reopen', 'p-two', 'amount-mismatch');
    await desk.confirm(orderId, 'p-two', 500);
    expect(await desk.rowsOf('p-two')).toEqual(['amount-mismatch kept', 'late kept']);
    await decide('settle', 'p-two', 'late');
    expect(await desk.rowsOf('p-two')).toEqual(['amount-mismatch settled', 'late settled']);
    await decide('reopen', 'p-two', 'late');
    expect(await desk.rowsOf('p-two')).toEqual(['amount-mismatch kept', 'late kept']);
    expect(
      await desk.shop.refund.execute({ orderId, ...desk.attempt('p-two'), reason: 'r' }, { by: ANNA }),
    ).toMatchObject({ outcome: 'refunding' });
    expect(await desk.rowsOf('p-two')).toEqual(['amount-mismatch refunding', 'late refunding']);
  });

  it.each([
    ['default', true, 'waiting'],
    ['default', false, 'kept'],
    ['parker', true, 'kept'],
  ])(
    'waits as before once a person reopens it: merchant %s, auto-close %s',
    async (merchantId, autoClose, handling) => {
      const reference = `p-again-${merchantId}-${autoClose}`;
      const orderId = await desk.placed({ merchantId, autoClose, attempt: desk.attempt(reference) });
      await desk.confirm(orderId, reference, 500);
      expect(await desk.rowsOf(reference)).toEqual([`amount-mismatch ${handling}`]);
      await decide('settle', reference, 'amount-mismatch');
      expect(await decide('reopen', reference, 'amount-mismatch')).toBe(handling);
      expect(await desk.rowsOf(reference)).toEqual([`amount-mismatch ${handling}`]);
    },
  );

  it('or pays too much is told once if it becomes surplus as a whole, and again if the order needs it', async () => {
    const orderId = await desk.placed({ merchantId: 'keeper', attempt: desk.attempt('p-registered') });
    await desk.confirm(orderId, 'p-much', 2_500);
    expect(await desk.rowsOf('p-much')).toEqual(['overpaid kept']);
    expect(await desk.confirm(orderId, 'p-registered')).toMatchObject({ outcome: 'surplus' });
    expect(await desk.rowsOf('p-much')).toEqual(['overpaid adopted', 'surplus kept']);
    const refund = { orderId, ...desk.attempt('p-registered'), reason: 'the buyer called' };
    expect(await desk.shop.refund.execute(refund, { by: ANNA })).toMatchObject({ outcome: 'refunding' });
    expect(await desk.rowsOf('p-much')).toEqual(['overpaid kept', 'surplus adopted']);
  });

  it('is told as too little for a paid order that has nothing else, whatever a person had settled', async () => {
    const orderId = await desk.placed({ attempt: desk.attempt('p-only') });
    const usd = { orderId, ...desk.attempt('p-only'), amount: 500, currency: 'USD' };
    expect(await desk.shop.markPaid.execute(usd)).toMatchObject({ outcome: 'currency-mismatch' });
    await decide('settle', 'p-only', 'currency-mismatch');
    expect(await desk.report(orderId, 't-p-only')).toMatchObject({ outcome: 'paid' });
    await desk.confirm(orderId, 'p-only');
    expect((await desk.attemptsOf(orderId))?.sort()).toEqual(['p-only SETTLED', 't-p-only DUPLICATE']);
    expect(await desk.openOf('p-only')).toMatchObject([
      { reason: 'amount-mismatch', amount: 1_999, source: 'provider' },
    ]);
    await decide('reopen', 'p-only', 'amount-mismatch');
    expect(await desk.attemptsOf(orderId)).toContain('p-only PAID');
  });

  it('that was refunded is not told again if it is repeated after its row was purged', async () => {
    const orderId = await desk.placed({ merchantId: 'parker', attempt: desk.attempt('p-returned') });
    await desk.confirm(orderId, 'p-returned', 500);
    const request = { orderId, ...desk.attempt('p-returned'), reason: 'the buyer called' };
    expect(await desk.shop.refund.execute(request, { by: ANNA })).toMatchObject({ outcome: 'refunding' });
    await desk.confirm(orderId, 'p-left', 600);
    await desk.shop.dataSource.query(`UPDATE ${SCHEMA}.payment_attempt SET status = 'REFUNDED' WHERE reference = $1`, [
      'p-returned',
    ]);
    await desk.shop.dataSource.query(`DELETE FROM ${SCHEMA}.unmatched_payment WHERE reference = $1`, ['p-returned']);
    await desk.confirm(orderId, 'p-returned', 500);
    expect([await desk.rowsOf('p-returned'), await desk.rowsOf('p-left')]).toEqual([[], ['amount-mismatch kept']]);
  });
});
