import { paymentSteps } from './payment-steps';
import { eventsOf, fill, openShop, SCHEMA, settleUntilDone, type Shop } from './shop';

describe('an order that is overpaid', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop({ reminderOffsetsMs: [], merchants: { keeper: { surplusPayment: 'keep' } } });
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

  it('has no row if it is paid exactly', async () => {
    const id = await ordered();
    await pays(id, { exact: 40, 'exact-too': 60 });
    expect(await rowsOf(id)).toEqual([]);
  });
});
