import { ANNA, type OperatorDesk, openDesk } from './operator-desk';
import { type FakeProvider } from './fake-provider';
import { post } from './post-notification';
import { fill, purgeOf, SCHEMA, settle, settleUntilDone } from './shop';

const SECOND = 1_000;

const DAY = 86_400 * SECOND;

let desk: OperatorDesk;

const register = (orderId: string, ...references: string[]): Promise<unknown[]> =>
  Promise.all(references.map((one) => desk.shop.register.execute({ orderId, ...desk.attempt(one) })));

/** A notification. @param agoS when the buyer paid */
async function tell(reference: string, amount: number, agoS = 0, transactionId = `t-${reference}`): Promise<void> {
  const paidAt = new Date(Date.now() - agoS * SECOND);
  await post(desk, {
    ...{ type: 'PAID', reference, amount: BigInt(amount), currency: 'EUR', paidAt, transactionId, evidence: {} },
  });
}

/** All rows about the payments of an order, or of none, whose references begin so. */
async function rowsOf(prefix: string): Promise<string[]> {
  const rows = await desk.shop.dataSource.query<{ text: string }[]>(
    `SELECT reference || ' ' || reason || ' ' || amount || ' ' || handling AS text FROM ${SCHEMA}.unmatched_payment
      WHERE reference LIKE $1 ORDER BY reference, id`,
    [`${prefix}%`],
  );
  return rows.map(({ text }) => text);
}

async function openRowsOf(prefix: string): Promise<string[]> {
  return (await rowsOf(prefix)).filter((row) => /kept|waiting/.test(row));
}

const refund = (orderId: string, reference: string): Promise<unknown> =>
  desk.shop.refund.execute({ orderId, ...desk.attempt(reference), reason: 'asked' }, { by: ANNA });

/** An order of 100. */
const placed = (merchantId?: string): Promise<string> =>
  desk.placed({
    amount: 100,
    lines: [{ sku: 'apple', quantity: 1, unitAmount: 100 }],
    ...(merchantId !== undefined && { merchantId }),
  });

async function placedWith(references: readonly string[], merchantId?: string): Promise<string> {
  const orderId = await placed(merchantId);
  await register(orderId, ...references);
  return orderId;
}

describe('money that is decided about again:', () => {
  beforeAll(async () => {
    desk = await openDesk();
  });

  afterAll(() => desk.shop.database.drop());

  describe('a PAID order that needs other payments than before', () => {
    it('shows what it no longer needs after an operator has refunded another payment', async () => {
      const orderId = await placedWith(['a-1', 'a-2', 'a-3'], 'keeper');
      for (const [index, amount] of [60, 40, 100].entries()) await tell(`a-${index + 1}`, amount, 30 - index);
      expect(await openRowsOf('a-')).toEqual(['a-3 surplus 100 kept']);
      expect(await refund(orderId, 'a-1')).toMatchObject({ outcome: 'refunding' });
      expect(await openRowsOf('a-')).toEqual(['a-2 surplus 40 kept']);
    });

    it('shows no excess that is none any more, after an operator has refunded another payment', async () => {
      const orderId = await placedWith(['b-1', 'b-2', 'b-3'], 'keeper');
      for (const [index, amount] of [60, 60, 40].entries()) await tell(`b-${index + 1}`, amount, 30 - index);
      expect(await openRowsOf('b-')).toEqual(['b-2 overpaid 20 kept', 'b-3 surplus 40 kept']);
      await refund(orderId, 'b-1');
      expect(await openRowsOf('b-')).toEqual([]);
    });

    it('shows no excess that is none any more, because an earlier payment was told later', async () => {
      await placedWith(['c-1', 'c-2', 'c-3']);
      await tell('c-1', 45, 20);
      await tell('c-2', 90, 10);
      expect(await openRowsOf('c-')).toEqual(['c-2 overpaid 35 kept']);
      await tell('c-3', 10, 30);
      expect(await openRowsOf('c-')).toEqual([]);
    });

    it('shows no late payment that revives it without a person, so that nobody pays it back', async () => {
      await fill(desk.shop, { scarce: 1 });
      const orderId = await desk.placed({ amount: 100, lines: [{ sku: 'scarce', quantity: 1, unitAmount: 100 }] });
      await desk.expire(orderId);
      await settleUntilDone(desk.shop, [orderId]);
      await fill(desk.shop, { scarce: 0 });
      await desk.report(orderId, 'd-1', 100);
      expect(await openRowsOf('d-')).toEqual(['d-1 late 100 kept']);
      await fill(desk.shop, { scarce: 1 });
      await desk.report(orderId, 'd-1', 100);
      expect(await desk.statusOf(orderId)).toBe('PAID');
      expect(await openRowsOf('d-')).toEqual([]);
    });
  });

  describe('a payment that is reopened', () => {
    it('shows all that is too much since', async () => {
      const orderId = await placedWith(['e-1'], 'keeper');
      await tell('e-1', 60, 30);
      expect(await desk.settle('e-1', 'amount-mismatch')).toBe('settled');
      await register(orderId, 'e-2', 'e-3');
      await tell('e-2', 60, 20);
      await tell('e-3', 40, 10);
      expect(await desk.statusOf(orderId)).toBe('PAID');
      await desk.reopen('e-1', 'amount-mismatch');
      expect(await openRowsOf('e-')).toEqual(['e-2 overpaid 20 kept', 'e-3 surplus 40 kept']);
    });

    it('has its whole amount again if its excess was reopened, too', async () => {
      const orderId = await placedWith(['f-1', 'f-2', 'f-3'], 'keeper');
      await tell('f-1', 60, 20);
      await tell('f-2', 60, 10);
      expect(await desk.settle('f-2', 'overpaid')).toBe('settled');
      await tell('f-3', 60, 30);
      expect(await desk.settle('f-2', 'surplus')).toBe('settled');
      await desk.reopen('f-2', 'overpaid');
      await desk.reopen('f-2', 'surplus');
      await refund(orderId, 'f-2');
      expect(await desk.shop.dataSource.query(`SELECT amount FROM ${SCHEMA}.refund WHERE reference = 'f-2'`)).toEqual([
        { amount: '60' },
      ]);
    });

    it('has no excess that only a report had stated', async () => {
      const orderId = await placedWith(['g-1']);
      await desk.report(orderId, 'g-1', 150);
      expect(await desk.settle('g-1', 'overpaid')).toBe('settled');
      await desk.confirm(orderId, 'g-1', 100);
      expect(await desk.reopen('g-1', 'overpaid')).toBe('adopted');
      expect(await openRowsOf('g-')).toEqual([]);
    });

    it('is not refunded with the rest of a report that its provider confirms as surplus', async () => {
      const orderId = await placedWith(['gg-1', 'gg-2']);
      await desk.report(orderId, 'gg-1', 150);
      expect(await desk.settle('gg-1', 'overpaid')).toBe('settled');
      await desk.confirm(orderId, 'gg-2', 100);
      await desk.confirm(orderId, 'gg-1', 150);
      expect(await openRowsOf('gg-')).toEqual(['gg-1 surplus 150 kept']);
    });

    it('is refunded at once if the policy says so, and not later', async () => {
      const orderId = await placedWith(['h-1', 'h-2']);
      await tell('h-1', 40, 30);
      expect(await desk.settle('h-1', 'amount-mismatch')).toBe('settled');
      await desk.expire(orderId);
      await settleUntilDone(desk.shop, [orderId]);
      await desk.reopen('h-1', 'amount-mismatch');
      expect(await desk.statusOf(orderId)).toBe('REFUNDING');
      expect(await openRowsOf('h-')).toEqual([]);
    });

    it('leaves others under its reference settled', async () => {
      await tell('i-1', 999, 0, 't1-i');
      expect(await desk.settle('i-1', 'unknown-order')).toBe('settled');
      const orderId = await desk.placed({ attempt: desk.attempt('i-1'), merchantId: 'parker' });
      await tell('i-1', 1_000, 0, 't2-i');
      await desk.expire(orderId);
      await settleUntilDone(desk.shop, [orderId]);
      expect(await desk.reopen('i-1', 'amount-mismatch')).toBe('kept');
      await tell('i-1', 999, 0, 't1-i');
      await settleUntilDone(desk.shop, [orderId]);
      expect(await desk.statusOf(orderId)).not.toBe('PAID');
      expect(await rowsOf('i-1')).toContain('i-1 unknown-order 999 settled');
    });

    it('does not become another one under its reference', async () => {
      await tell('j-1', 1_999, 0, 't1-j');
      expect(await desk.settle('j-1', 'unknown-order')).toBe('settled');
      const orderId = await desk.placed({ attempt: desk.attempt('j-1'), merchantId: 'keeper', lines: [] });
      await desk.expire(orderId);
      await settleUntilDone(desk.shop, [orderId]);
      await tell('j-1', 1_500, 0, 't2-j');
      expect(await desk.settle('j-1', 'late')).toBe('settled');
      await desk.reopen('j-1', 'unknown-order');
      expect(await desk.attemptsOf(orderId)).toContain('j-1 SETTLED');
    });

    it('does not make a false report of it true', async () => {
      const orderId = await desk.closed({ merchantId: 'keeper', lines: [] });
      const lie = { orderId, ...desk.attempt('r-lie'), amount: 1_999, currency: 'EUR', transactionId: 't-r' };
      await desk.shop.markPaid.execute(lie);
      expect(await desk.settle('r-lie', 'late')).toBe('settled');
      await tell('r-1', 1_999, 0, 't-r');
      expect(await desk.settle('r-1', 'unknown-order')).toBe('settled');
      expect(await desk.reopen('r-1', 'unknown-order')).toBe('kept');
      expect(await desk.attemptsOf(orderId)).toEqual(['r-lie SETTLED']);
    });

    it.each(['unknown-order', 'attempt-mismatch'])(
      'pays its order whichever of its two rows is reopened: %s',
      async (reason) => {
        const reference = `k-${reason}`;
        await tell(reference, 1_999);
        await desk.shop.dataSource.query(
          `UPDATE ${SCHEMA}.unmatched_payment SET created_at = created_at - interval '20 minutes' WHERE reference = $1`,
          [reference],
        );
        const orderId = await desk.placed({ attempt: desk.attempt(reference) });
        await tell(reference, 1_999);
        expect(await desk.settle(reference, 'attempt-mismatch')).toBe('settled');
        await tell(reference, 1_999);
        expect(await desk.attemptsOf(orderId)).toEqual([`${reference} SETTLED`]);
        await desk.reopen(reference, reason);
        await settleUntilDone(desk.shop, [orderId]);
        expect(await desk.statusOf(orderId)).toBe('PAID');
        expect(await openRowsOf(reference)).toEqual([]);
      },
    );
  });

  describe('a payment of no order that is told under two names', () => {
    it('is settled and reopened under both', async () => {
      await tell('l-pi', 1_999, 0, 'l-ch');
      await tell('l-cs', 1_999, 0, 'l-pi');
      expect(await desk.settle('l-pi', 'unknown-order')).toBe('settled');
      expect(await openRowsOf('l-')).toEqual([]);
      await desk.reopen('l-pi', 'unknown-order');
      expect(await openRowsOf('l-')).toEqual(['l-cs unknown-order 1999 kept', 'l-pi unknown-order 1999 kept']);
    });

    it('waits under neither once an order has it', async () => {
      await tell('m-t', 1_999, 0, 'm-t');
      await tell('m-1', 1_999, 0, 'm-t');
      const orderId = await desk.placed({ attempt: desk.attempt('m-1') });
      await settleUntilDone(desk.shop, [orderId]);
      expect(await desk.statusOf(orderId)).toBe('PAID');
      expect(await openRowsOf('m-')).toEqual([]);
    });
  });

  describe('what outlives a settlement', () => {
    it('is not a settled report if the provider names it as a payment that it has confirmed', async () => {
      const orderId = await desk.placed({ lines: [] });
      await desk.shop.markPaid.execute({ orderId, ...desk.attempt('n-1'), amount: 500, currency: 'EUR' });
      expect(await desk.settle('n-1', 'amount-mismatch')).toBe('settled');
      await tell('n-tx', 1_999, 0, 'n-tx');
      const assignment = { id: await desk.idOf('n-tx', 'unknown-order'), orderId, reason: 'his' };
      expect(await desk.shop.assign.execute(assignment, { by: ANNA })).toMatchObject({ booked: 'paid' });
      await tell('n-1', 1_999, 0, 'n-tx');
      expect(await desk.attemptsOf(orderId)).toEqual(expect.arrayContaining(['n-tx PAID', 'n-1 SETTLED']));
      expect(await openRowsOf('n-')).toEqual([]);
    });

    it.each([
      ['when it was told before the order registered its reference', true],
      ['when a notification repeats it with its amount', false],
    ])('is no money that nobody had stated: the payment pays its order, and is told, %s', async (_when, isEarly) => {
      const reference = `s-${isEarly}`;
      await tell(reference, -5);
      expect(await desk.settle(reference, 'invalid-amount')).toBe('settled');
      if (isEarly) await tell(reference, 1_999);
      const orderId = await desk.placed({ attempt: desk.attempt(reference) });
      if (!isEarly) await tell(reference, 1_999);
      await settleUntilDone(desk.shop, [orderId]);
      expect([await desk.statusOf(orderId), await desk.attemptsOf(orderId)]).toEqual(['PAID', [`${reference} PAID`]]);
      expect(await openRowsOf(reference)).toEqual([`${reference} attempt-mismatch 1999 kept`]);
    });

    it('is no money that nobody had stated: a look-up finds it, and it is not refunded without a person', async () => {
      await tell('t-odd', -5);
      expect(await desk.settle('t-odd', 'invalid-amount')).toBe('settled');
      const orderId = await placedWith(['t-odd', 't-even']);
      desk.shop.provider.paid('t-odd', 100n);
      await tell('t-even', 100, 10);
      await settleUntilDone(desk.shop, [orderId]);
      expect((await desk.attemptsOf(orderId))?.sort()).toEqual(['t-even PAID', 't-odd PAID']);
      expect(await openRowsOf('t-')).toEqual(['t-odd attempt-mismatch 100 kept', 't-odd surplus 100 kept']);
    });

    it('keeps an operator from closing an order whose reference has another confirmed payment', async () => {
      await tell('o-1', 500, 0, 't1-o');
      await tell('o-1', 1_999, 0, 't2-o');
      await desk.shop.dataSource.query(
        `UPDATE ${SCHEMA}.unmatched_payment SET created_at = created_at - interval '20 minutes'`,
      );
      expect(await desk.settle('o-1', 'unknown-order')).toBe('settled');
      const orderId = await desk.placed({ attempt: desk.attempt('o-1') });
      const closing = { orderId, reason: 'asked', attemptsAreClosed: true };
      expect(await desk.shop.close.execute(closing, { by: ANNA })).toMatchObject({ code: 'ORDER_HAS_MONEY' });
    });
  });

  describe('an attempt that was registered without its account', () => {
    it('learns none from a registration that is rejected', async () => {
      const provider: FakeProvider & { defaultAccount?: string } = desk.shop.provider;
      const orderId = await desk.placed({ attempt: desk.attempt('p-1') });
      const wrong = { orderId, ...desk.attempt('p-1'), merchantAccount: 'typo', amount: 5 };
      expect(await desk.shop.register.execute(wrong)).toMatchObject({ code: 'ATTEMPT_EXISTS' });
      provider.answerQuery('p-1', ({ merchantAccount }) =>
        merchantAccount === undefined
          ? { type: 'PAID', amount: 1_999n, currency: 'EUR', paidAt: new Date(), transactionId: 't-p', evidence: {} }
          : { type: 'NOT_FOUND' },
      );
      await desk.expire(orderId);
      await settleUntilDone(desk.shop, [orderId]);
      expect(await desk.statusOf(orderId)).toBe('PAID');
    });

    it('learns none at which another order has registered its reference', async () => {
      const provider: FakeProvider & { defaultAccount?: string } = desk.shop.provider;
      const orderId = await desk.placed({ attempt: desk.attempt('q-1') });
      provider.defaultAccount = 'main';
      const atOther = { ...desk.attempt('q-1'), merchantAccount: 'other' };
      const other = await desk.placed();
      expect(await desk.shop.register.execute({ orderId: other, ...atOther })).toMatchObject({ outcome: 'registered' });
      expect(await desk.shop.register.execute({ orderId, ...atOther })).toMatchObject({ code: 'ATTEMPT_EXISTS' });
      delete provider.defaultAccount;
    });
  });

  describe('what was told of a payment that no order had registered', () => {
    it.each([
      [100, []],
      [60, ['u-60 amount-mismatch 60 kept']],
      [120, ['u-120 overpaid 20 kept']],
    ])('is what the provider says, once it has confirmed %d of the 150 that were reported', async (amount, rows) => {
      const orderId = await placed();
      await desk.report(orderId, `u-${amount}`, 150);
      expect(await openRowsOf(`u-${amount}`)).toEqual([`u-${amount} overpaid 50 kept`]);
      await tell(`u-${amount}`, amount);
      expect(await openRowsOf(`u-${amount}`)).toEqual(rows);
    });

    it('is what the provider says of several, which together are too little', async () => {
      const orderId = await placed('keeper');
      await desk.report(orderId, 'v-1', 150);
      await desk.report(orderId, 'v-2', 20);
      await tell('v-2', 20, 10);
      await tell('v-1', 60);
      expect(await openRowsOf('v-')).toEqual(['v-1 amount-mismatch 60 kept', 'v-2 amount-mismatch 20 kept']);
    });
  });

  it('lets an order be decided about again whose closing was parked for a report, once the provider confirms too little', async () => {
    const orderId = await placedWith(['y-1']);
    await desk.report(orderId, 'y-1', 60);
    desk.shop.provider.answerQuery('y-1', { type: 'UNKNOWN', reason: 'no answer' });
    await desk.expire(orderId);
    await settle(desk.shop, [orderId]);
    // As the engine does where the answer does not come in time.
    await desk.endTimeoutsOf(orderId);
    await tell('y-1', 60);
    expect(await desk.kindsOf(orderId)).toContain('order.payment');
  });

  it('shows a part of a PAID order that is spare since only as surplus', async () => {
    const orderId = await placedWith(['w-1', 'w-2'], 'keeper');
    await desk.report(orderId, 'w-1', 100);
    await tell('w-1', 60, 20);
    expect(await openRowsOf('w-')).toEqual(['w-1 amount-mismatch 60 kept']);
    await tell('w-2', 100, 10);
    expect(await openRowsOf('w-')).toEqual(['w-1 surplus 60 kept']);
  });

  it('shows a second excess of a payment whose first one was settled', async () => {
    const orderId = await placedWith(['x-1', 'x-2', 'x-3'], 'keeper');
    await tell('x-3', 45, 30);
    await tell('x-1', 65, 10);
    expect(await desk.settle('x-1', 'overpaid')).toBe('settled');
    await tell('x-2', 60, 20);
    expect(await desk.settle('x-2', 'overpaid')).toBe('settled');
    await refund(orderId, 'x-3');
    expect(await openRowsOf('x-')).toEqual(['x-1 overpaid 10 kept']);
  });

  it('tells a person of a part that came early, though the deadline of its order is moved before that is decided', async () => {
    await tell('z-1', 40);
    const orderId = await desk.placed({ amount: 100, autoClose: false, lines: [], attempt: desk.attempt('z-1') });
    for (const byMs of [60_000, 60_000]) await desk.shop.extend.execute({ orderId, byMs });
    expect(await openRowsOf('z-')).toEqual(['z-1 amount-mismatch 40 kept']);
  });

  describe('a payment whose reference a purged order had', () => {
    const second = (reference: string): string => `t2-${reference}`;

    /** An order with a payment of its own under the reference of another one, which was settled as `reason` and purged. */
    async function placedAfter(reference: string, reason: 'overpaid' | 'surplus', amount: number): Promise<string> {
      const isSpare = reason === 'surplus';
      const first = await placedWith(isSpare ? [reference, `${reference}-0`] : [reference], 'keeper');
      if (isSpare) await tell(`${reference}-0`, 100, 20);
      await tell(reference, amount, 10);
      expect(await desk.settle(reference, reason)).toBe('settled');
      await purge(first);
      const orderId = await placedWith([reference, `${reference}-2`], 'keeper');
      await tell(reference, amount, 10, second(reference));
      return orderId;
    }

    async function purge(orderId: string): Promise<void> {
      const { shop } = desk;
      await desk.endTimeoutsOf(orderId);
      await shop.dataSource.query(`DELETE FROM ${SCHEMA}.outbox`);
      await shop.dataSource.query(`UPDATE ${SCHEMA}.orders SET updated_at = now() - interval '90 days' WHERE id = $1`, [
        orderId,
      ]);
      await purgeOf(shop, { finishedOrdersMs: 30 * DAY }).runOnce();
      expect(await desk.statusOf(orderId)).toBeUndefined();
    }

    it('is not refunded with the excess that a person has paid back', async () => {
      const orderId = await placedAfter('p1', 'overpaid', 150);
      expect(await openRowsOf(second('p1'))).toEqual([`${second('p1')} overpaid 50 kept`]);
      expect(await desk.settle(second('p1'), 'overpaid')).toBe('settled');
      await tell('p1-2', 100);
      await refund(orderId, 'p1');
      const refunds = await desk.shop.dataSource.query<{ amount: string }[]>(
        `SELECT amount FROM ${SCHEMA}.refund WHERE order_id = $1`,
        [orderId],
      );
      expect(refunds).toEqual([{ amount: '100' }]);
    });

    it('is not shown as surplus anymore once its order needs it', async () => {
      const orderId = await placedAfter('p2', 'surplus', 100);
      await tell('p2-2', 100, 30);
      expect(await openRowsOf(second('p2'))).toEqual([`${second('p2')} surplus 100 kept`]);
      await refund(orderId, 'p2-2');
      expect(await openRowsOf(second('p2'))).toEqual([]);
    });

    it('is not shown as surplus anymore once it is refunded', async () => {
      const orderId = await placedAfter('p3', 'surplus', 100);
      await tell('p3-2', 100, 30);
      await refund(orderId, 'p3');
      expect(await openRowsOf(second('p3'))).toEqual([]);
    });
  });
});
