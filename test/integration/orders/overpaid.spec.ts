import { PAYMENT_REFUND } from '../../../src/orders/model/order-timeouts';
import { openItemsOf } from '../../../src/orders/retention/purge-orders';
import { refundNumber } from '../../../src/orders/model/unmatched-money';
import { type DueTimeout } from '../../../src/timeouts';
import { paymentSteps } from './payment-steps';
import { dueOf, eventsOf, fill, openShop, runOnce, SCHEMA, settleUntilDone, type Shop } from './shop';

describe('an order that is overpaid', () => {
  let shop: Shop;
  beforeAll(async () => {
    const merchants = { keeper: { surplusPayment: 'keep' }, refunder: { overpayment: 'refund-excess' } } as const;
    shop = await openShop({ reminderOffsetsMs: [], merchants });
    await fill(shop, { apple: 1_000 });
  });
  afterAll(() => shop.database.drop());

  const { attempt, placed, report, confirm, expire, statusOf } = paymentSteps(() => shop);
  const lines = [{ sku: 'apple', quantity: 1, unitAmount: 100 }];
  const ordered = (merchantId?: string) => placed({ amount: 100, lines, merchantId });
  /** Attempts that take these amounts, one after the other. */
  const pays = async (id: string, amounts: Record<string, number>) => {
    for (const reference of Object.keys(amounts)) await shop.register.execute({ orderId: id, ...attempt(reference) });
    for (const [reference, amount] of Object.entries(amounts)) await confirm(id, reference, amount);
  };
  const rowsOf = async (id: string) =>
    (
      await shop.dataSource.query<{ text: string }[]>(
        `SELECT reference || ' ' || reason || ' ' || amount || ' ' || handling AS text FROM ${SCHEMA}.unmatched_payment
          WHERE order_id = $1 AND reason IN ('overpaid', 'surplus') ORDER BY id`,
        [id],
      )
    ).map(({ text }) => text);
  const eventsAbout = async (id: string) =>
    (await eventsOf(shop, id)).filter(({ body }) => body.reason === 'overpaid').map(({ body }) => body);

  it('has a row and an event with the excess, once', async () => {
    const id = await ordered();
    await pays(id, { much: 10_000 });
    await confirm(id, 'much', 10_000);
    expect([await statusOf(id), await rowsOf(id)]).toEqual(['PAID', ['much overpaid 9900 kept']]);
    expect(await eventsAbout(id)).toMatchObject([
      { reference: 'much', amount: 9_900, currency: 'EUR', handling: 'kept' },
    ]);
  });

  it('by 1 minor unit has that one', async () => {
    const id = await ordered();
    await pays(id, { one: 101 });
    expect(await rowsOf(id)).toEqual(['one overpaid 1 kept']);
  });

  it.each([
    ['refunds what is whole', undefined, 'refunding'],
    ['keeps what is whole', 'keeper', 'kept'],
  ])('by 60 + 60 + 40 for 100 %s, and shows the rest: 60 in all', async (_what, merchantId, handling) => {
    const id = await ordered(merchantId);
    const [a, b, c] = ['a', 'b', 'c'].map((name) => `${handling}-${name}`) as [string, string, string];
    await pays(id, { [a]: 60, [b]: 60, [c]: 40 });
    expect(await rowsOf(id)).toEqual([`${b} overpaid 20 kept`, `${c} surplus 40 ${handling}`]);
  });

  it('is told when its deadline finds the money', async () => {
    const id = await ordered();
    await shop.register.execute({ orderId: id, ...attempt('found') });
    shop.provider.paid('found', 150n);
    await expire(id);
    await settleUntilDone(shop, [id]);
    expect([await statusOf(id), await rowsOf(id)]).toEqual(['PAID', ['found overpaid 50 kept']]);
  });

  it('is told when the money revives it', async () => {
    const id = await ordered();
    await shop.register.execute({ orderId: id, ...attempt('revives') });
    await expire(id);
    await settleUntilDone(shop, [id]);
    await confirm(id, 'revives', 130);
    expect([await statusOf(id), await rowsOf(id)]).toEqual(['PAID', ['revives overpaid 30 kept']]);
  });

  it('is told when an operator refunds the payment that paid it, and a larger one that was surplus is left', async () => {
    const id = await ordered('keeper');
    await pays(id, { exact: 100, larger: 250 });
    expect(await rowsOf(id)).toEqual(['larger surplus 250 kept']);
    const refund = { orderId: id, ...attempt('exact'), reason: 'the buyer called' };
    expect(await shop.refund.execute(refund)).toMatchObject({ outcome: 'refunding', order: { status: 'PAID' } });
    expect(await rowsOf(id)).toEqual(['larger surplus 250 adopted', 'larger overpaid 150 kept']);
  });

  it('is told when only a report says so, and the amount of the provider replaces it', async () => {
    const id = await ordered();
    await shop.register.execute({ orderId: id, ...attempt('told') });
    await report(id, 'told', 120);
    expect(await rowsOf(id)).toEqual(['told overpaid 20 kept']);
    await confirm(id, 'told', 170);
    expect(await rowsOf(id)).toEqual(['told overpaid 70 kept']);
    expect(await eventsAbout(id)).toMatchObject([{ amount: 20 }, { amount: 70 }]);
  });

  it('stays quiet after a person has settled the excess, and keeps its payment', async () => {
    const id = await ordered();
    await pays(id, { settled: 110 });
    const row = (await shop.unmatched.list({ limit: 1_000 })).find(({ orderId }) => orderId === id);
    const by = { cause: 'api', actor: 'anna' } as const;
    await shop.settleUnmatched.execute({ id: row?.id ?? '', reason: 'paid back 10 by wire' }, { by });
    expect(await confirm(id, 'settled', 110)).toMatchObject({ outcome: 'already-paid', order: { status: 'PAID' } });
    expect(await rowsOf(id)).toEqual(['settled overpaid 10 settled']);
  });

  it('has no open row anymore if the provider states the right amount', async () => {
    const id = await ordered();
    await shop.register.execute({ orderId: id, ...attempt('right') });
    await report(id, 'right', 150);
    await confirm(id, 'right', 100);
    expect(await rowsOf(id)).toEqual(['right overpaid 50 adopted']);
  });

  it('has no open row anymore if the provider states too little', async () => {
    const id = await ordered();
    await shop.register.execute({ orderId: id, ...attempt('little') });
    await report(id, 'little', 150);
    expect(await confirm(id, 'little', 90)).toMatchObject({ outcome: 'amount-mismatch' });
    expect(await rowsOf(id)).toEqual(['little overpaid 50 adopted']);
  });

  it('has one open row if another payment turns out to be the last', async () => {
    const id = await ordered();
    for (const name of ['told-first', 'said-last']) await shop.register.execute({ orderId: id, ...attempt(name) });
    await report(id, 'told-first', 60);
    await confirm(id, 'said-last', 60);
    expect(await rowsOf(id)).toEqual(['told-first overpaid 20 kept']);
    await shop.dataSource.query(`UPDATE ${SCHEMA}.payment_attempt SET paid_at = now() + interval '1 minute' WHERE reference = 'said-last'`); // prettier-ignore
    await confirm(id, 'told-first', 60);
    expect(await rowsOf(id)).toEqual(['told-first overpaid 20 adopted', 'said-last overpaid 20 kept']);
  });

  it('has no row if it is paid exactly', async () => {
    const id = await ordered();
    await pays(id, { exact: 40, 'exact-too': 60 });
    expect(await rowsOf(id)).toEqual([]);
  });

  describe('whose merchant has the excess refunded', () => {
    const orderedThere = () => ordered('refunder');
    const askedFor = (reference: string) =>
      shop.provider.refunds
        .filter((request) => request.attempt.reference === reference)
        .map(({ refundNumber: number, amount, paidAmount }) => [number, amount, paidAmount]);
    const excessOf = (reference: string) => refundNumber(attempt(reference), 'excess');
    /** Runs the refund with this number, if one is scheduled, as the engine does. */
    const refund = async (number: string, payload: DueTimeout['payload'] = {}) => {
      const [scheduled] = await shop.dataSource.query<unknown[]>(`SELECT 1 FROM ${SCHEMA}.timeout WHERE kind = $1 AND key = $2`, [PAYMENT_REFUND, number]); // prettier-ignore
      if (!scheduled) return 'not scheduled';
      return (await runOnce(shop, shop.refunding, dueOf(number, { kind: PAYMENT_REFUND, payload }))).type;
    };
    const attemptsOf = async (id: string) =>
      (
        await shop.dataSource.query<{ text: string }[]>(
          `SELECT reference || ' ' || status || ' ' || paid_amount || ' -' || refunded_amount AS text
             FROM ${SCHEMA}.payment_attempt WHERE order_id = $1 ORDER BY created_at, reference`,
          [id],
        )
      ).map(({ text }) => text);

    it('gets it back once, under a number of its own, and the order keeps the rest', async () => {
      const id = await orderedThere();
      await pays(id, { back: 150 });
      await confirm(id, 'back', 150);
      expect(await rowsOf(id)).toEqual(['back overpaid 50 refunding']);
      expect(await refund(refundNumber(attempt('back')))).toBe('not scheduled');
      expect(await refund(excessOf('back'))).toBe('done');
      await confirm(id, 'back', 150);
      expect(askedFor('back')).toEqual([[excessOf('back'), 50n, 150n]]);
      expect([await statusOf(id), await attemptsOf(id)]).toEqual(['PAID', ['back PAID 150 -50']]);
      expect(await eventsAbout(id)).toMatchObject([
        { reference: 'back', amount: 50, handling: 'refunding' },
        { type: 'order.refunded', refundNumber: excessOf('back'), refundedAmount: 50 },
      ]);
      expect((await rowsOf(id)).length).toBe(1);
    });

    it('gets all that is too much back: 60 + 60 + 40 for 100 keeps 100', async () => {
      const id = await orderedThere();
      await pays(id, { 'x-a': 60, 'x-b': 60, 'x-c': 40 });
      expect(await rowsOf(id)).toEqual(['x-b overpaid 20 refunding', 'x-c surplus 40 refunding']);
      expect([await refund(excessOf('x-b')), await refund(refundNumber(attempt('x-c')))]).toEqual(['done', 'done']);
      expect([askedFor('x-b'), askedFor('x-c')]).toEqual([
        [[excessOf('x-b'), 20n, 60n]],
        [[refundNumber(attempt('x-c')), 40n, 40n]],
      ]);
      expect(await attemptsOf(id)).toEqual(['x-a PAID 60 -0', 'x-b PAID 60 -20', 'x-c REFUNDED 40 -0']);
    });

    it('gets no more than the rest back when its payment becomes surplus later', async () => {
      const id = await orderedThere();
      await shop.register.execute({ orderId: id, ...attempt('second') });
      await pays(id, { first: 150 });
      await shop.dataSource.query(`UPDATE ${SCHEMA}.payment_attempt SET paid_at = now() + interval '1 minute' WHERE reference = 'first'`); // prettier-ignore
      await confirm(id, 'second', 130);
      expect(await rowsOf(id)).toEqual([
        'first overpaid 50 refunding',
        'second overpaid 30 refunding',
        'first surplus 100 refunding',
      ]);
      const open = await shop.dataSource.transaction((tx) => openItemsOf(tx, { schema: SCHEMA }, [id], { kinds: [] }));
      expect(open.get(id)).toEqual(expect.arrayContaining(['refund', 'unmatched-money']));
      await refund(refundNumber(attempt('first')));
      await refund(excessOf('first'));
      await refund(excessOf('second'));
      expect(askedFor('first').map(([, amount]) => amount)).toEqual([100n, 50n]);
      expect([askedFor('second'), await statusOf(id)]).toEqual([[[excessOf('second'), 30n, 130n]], 'PAID']);
    });

    it('waits for the provider if only a report says so', async () => {
      const id = await orderedThere();
      await shop.register.execute({ orderId: id, ...attempt('unsure') });
      await report(id, 'unsure', 120);
      expect([await rowsOf(id), await refund(excessOf('unsure'))]).toEqual([
        ['unsure overpaid 20 kept'],
        'not scheduled',
      ]);
      await confirm(id, 'unsure', 170);
      expect([await rowsOf(id), await refund(excessOf('unsure'))]).toEqual([['unsure overpaid 70 refunding'], 'done']);
      expect(askedFor('unsure')).toEqual([[excessOf('unsure'), 70n, 170n]]);
    });

    it('is asked about if the payment was not registered', async () => {
      const id = await orderedThere();
      await confirm(id, 'unlinked', 150);
      expect([await statusOf(id), await rowsOf(id)]).toEqual(['PAID', ['unlinked overpaid 50 kept']]);
      expect(await refund(excessOf('unlinked'))).toBe('not scheduled');
    });

    it('is asked about if the provider cannot refund in part', async () => {
      shop.provider.refundsInPart = false;
      const id = await orderedThere();
      await pays(id, { unable: 150 });
      shop.provider.refundsInPart = true;
      await confirm(id, 'unable', 150);
      expect([await rowsOf(id), await refund(excessOf('unable'))]).toEqual([
        ['unable overpaid 50 kept'],
        'not scheduled',
      ]);
    });

    it('is asked about if another order counts on the payment', async () => {
      const [other, id] = [await ordered(), await orderedThere()];
      await shop.register.execute({ orderId: id, ...attempt('claimed') });
      await shop.markPaid.execute({ ...attempt('elsewhere'), orderId: other, amount: 150, currency: 'EUR', transactionId: 't-claimed' }); // prettier-ignore
      await confirm(id, 'claimed', 150);
      expect([await statusOf(id), await rowsOf(id)]).toEqual(['PAID', ['claimed overpaid 50 kept']]);
      expect(await refund(excessOf('claimed'))).toBe('not scheduled');
    });

    it('stays with the person who has settled it', async () => {
      const id = await orderedThere();
      await shop.register.execute({ orderId: id, ...attempt('by-wire') });
      await report(id, 'by-wire', 110);
      const row = (await shop.unmatched.list({ limit: 1_000 })).find(({ orderId }) => orderId === id);
      const by = { cause: 'api', actor: 'anna' } as const;
      await shop.settleUnmatched.execute({ id: row?.id ?? '', reason: 'paid back 10 by wire' }, { by });
      await confirm(id, 'by-wire', 120);
      expect([await rowsOf(id), await refund(excessOf('by-wire'))]).toEqual([
        ['by-wire overpaid 20 kept'],
        'not scheduled',
      ]);
      await confirm(id, 'by-wire', 120);
      expect(await rowsOf(id)).toEqual(['by-wire overpaid 20 kept']);
    });

    it('is tried again, and parked, if the provider rejects it', async () => {
      const id = await orderedThere();
      await pays(id, { refused: 150 });
      shop.provider.answerRefund('refused', { type: 'REJECTED', reason: 'balance too low' });
      expect(await refund(excessOf('refused'))).toBe('retry');
      expect(await attemptsOf(id)).toEqual(['refused PAID 150 -50']);
      shop.provider.answerRefund('refused', undefined);
      expect(await refund(excessOf('refused'))).toBe('done');
    });

    it('is told to a person if it fails after it was done, and ends when that person has paid it back', async () => {
      const id = await orderedThere();
      await pays(id, { fails: 150 });
      expect(await refund(excessOf('fails'))).toBe('done');
      shop.provider.answerRefund('fails', { type: 'REJECTED', reason: 'card expired' });
      expect(await refund(excessOf('fails'), { isCheck: true })).toBe('retry');
      const open = (await shop.unmatched.list({ limit: 1_000 })).filter(({ orderId }) => orderId === id);
      expect(open).toMatchObject([{ reason: 'excess-refund-failed', amount: 50, handling: 'kept' }]);
      expect([await statusOf(id), await attemptsOf(id)]).toEqual(['PAID', ['fails PAID 150 -50']]);
      const by = { cause: 'api', actor: 'anna' } as const;
      await shop.settleUnmatched.execute({ id: open[0]?.id ?? '', reason: 'paid back 50 by wire' }, { by });
      const asked = askedFor('fails').length;
      expect([await refund(excessOf('fails')), askedFor('fails').length]).toEqual(['done', asked]);
      expect([await statusOf(id), await attemptsOf(id)]).toEqual(['PAID', ['fails PAID 150 -50']]);
    });

    const openOf = async (id: string) =>
      (await shop.unmatched.list({ limit: 1_000 })).filter(({ orderId }) => orderId === id);
    const textsOf = async (id: string) => (await openOf(id)).map(({ reason, amount }) => `${reason} ${amount}`).sort();
    const fails = async (number: string, reference: string) => {
      shop.provider.answerRefund(reference, { type: 'REJECTED', reason: 'card expired' });
      expect(await refund(number, { isCheck: true })).toBe('retry');
    };
    /** An order that another payment pays later, so that the rest of this one is surplus. */
    const paidTwice = async (reference: string, other: string) => {
      const id = await orderedThere();
      await shop.register.execute({ orderId: id, ...attempt(other) });
      await pays(id, { [reference]: 150 });
      await shop.dataSource.query(
        `UPDATE ${SCHEMA}.payment_attempt SET paid_at = now() + interval '1 minute' WHERE reference = $1`,
        [reference],
      );
      return id;
    };

    it('is told apart from the rest of its payment if both refunds fail, and each ends by itself', async () => {
      const id = await paidTwice('both', 'instead');
      await confirm(id, 'instead', 100);
      const [rest, excess] = [refundNumber(attempt('both')), excessOf('both')];
      expect([await refund(excess), await refund(rest)]).toEqual(['done', 'done']);
      await fails(excess, 'both');
      await fails(rest, 'both');
      expect(await textsOf(id)).toEqual(['excess-refund-failed 50', 'refund-failed 100']);
      const row = (await openOf(id)).find(({ amount }) => amount === 100);
      const settlement = { id: row?.id ?? '', reason: 'paid back 100 by wire' };
      await shop.settleUnmatched.execute(settlement, { by: { actor: 'anna' } });
      expect(await textsOf(id)).toEqual(['excess-refund-failed 50']);
      const asked = askedFor('both').length;
      expect([await refund(rest), askedFor('both').length]).toEqual(['done', asked]);
      shop.provider.answerRefund('both', { type: 'REFUNDED', refundId: 'at-last', evidence: {} });
      expect([await refund(excess), await openOf(id)]).toEqual(['done', []]);
    });

    it('stays with a person if its refund has failed and the rest is refunded later', async () => {
      const id = await paidTwice('half', 'other');
      expect(await refund(excessOf('half'))).toBe('done');
      await fails(excessOf('half'), 'half');
      await confirm(id, 'other', 100);
      expect(await rowsOf(id)).toContain('half surplus 100 refunding');
      expect(await textsOf(id)).toEqual(['excess-refund-failed 50']);
    });
  });
});
