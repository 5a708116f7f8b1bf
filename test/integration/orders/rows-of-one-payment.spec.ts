import { ANNA, openDesk, type OperatorDesk } from './operator-desk';
import { post } from './post-notification';
import { SCHEMA, settleUntilDone } from './shop';

/**
 * Money came under a reference an hour before the order that registers it, and its notification is repeated after a second
 * payment: the first has a row under the reference, and one under its transaction id.
 */
describe('two rows of one payment', () => {
  let desk: OperatorDesk;
  beforeAll(async () => {
    desk = await openDesk();
  });
  afterAll(() => desk.shop.database.drop());

  const notify = (
    reference: string,
    transactionId = `t-${reference}`,
    amount = 1_999n,
    hoursAgo = 0,
  ): Promise<void> => {
    const paidAt = new Date(Date.now() - hoursAgo * 3_600_000);
    const money = { amount, currency: 'EUR', paidAt, transactionId };
    return post(desk, { type: 'PAID', reference, ...money, evidence: {} });
  };
  const anHourLater = (reference: string) =>
    desk.shop.dataSource.query(
      `UPDATE ${SCHEMA}.unmatched_payment SET created_at = now() - interval '1 hour'
        WHERE COALESCE(evidence->>'reference', reference) = $1`,
      [reference],
    );
  const idOf = async (reference: string, reason = 'unknown-order'): Promise<string> =>
    (await desk.openOf(reference)).find((row) => row.reason === reason)?.id ?? '';
  const settle = async (reference: string, reason?: string) => {
    const settlement = { id: await idOf(reference, reason), reason: 'paid back by wire 4711' };
    expect(await desk.shop.settleUnmatched.execute(settlement, { by: ANNA })).toMatchObject({ outcome: 'settled' });
  };
  const openUnder = async (...references: string[]): Promise<string[]> =>
    (await Promise.all(references.map((one) => desk.openOf(one)))).flat().map(({ reason }) => reason);
  const assign = async (reference: string, orderId: string) => {
    const assignment = { id: await idOf(reference), orderId, reason: 'the receipt names this order' };
    return desk.shop.assign.execute(assignment, { by: ANNA });
  };
  /** An order that registers the reference of money which came long before it, and is told of that. */
  const placedLate = async (reference: string, amount: bigint, merchantId = 'default'): Promise<string> => {
    await notify(reference, `t-${reference}`, amount);
    await anHourLater(reference);
    const orderId = await desk.placed({ attempt: desk.attempt(reference), merchantId });
    await notify(reference, `t-${reference}`, amount);
    expect(await openUnder(reference)).toEqual(['unknown-order', 'attempt-mismatch']);
    return orderId;
  };
  /** An order that the second payment pays. */
  const paidBySecond = async (reference: string): Promise<string> => {
    await notify(reference, `${reference}-1`);
    await anHourLater(reference);
    const orderId = await desk.placed({ attempt: desk.attempt(reference) });
    await notify(reference, `${reference}-2`);
    await notify(reference, `${reference}-1`);
    expect(await desk.attemptsOf(orderId)).toEqual([`${reference} PAID`]);
    expect(await openUnder(reference, `${reference}-1`)).toEqual(['unknown-order', 'attempt-mismatch']);
    return orderId;
  };

  it('are settled together by the one under the reference', async () => {
    await paidBySecond('by-reference');
    await settle('by-reference');
    expect(await openUnder('by-reference', 'by-reference-1')).toEqual([]);
  });

  it('are settled together by the one under the transaction id, so that nobody assigns what was paid back', async () => {
    const orderId = await paidBySecond('by-id');
    const id = await idOf('by-id');
    await settle('by-id-1', 'attempt-mismatch');
    expect(await openUnder('by-id', 'by-id-1')).toEqual([]);
    const assignment = { id, orderId, reason: 'the receipt names this order' };
    expect(await desk.shop.assign.execute(assignment, { by: ANNA })).toMatchObject({ outcome: 'rejected' });
    await settleUntilDone(desk.shop, [orderId]);
    expect(await desk.attemptsOf(orderId)).toEqual(['by-id PAID']);
  });

  it('are closed together if the payment is assigned to their order as a part of its price', async () => {
    const orderId = await placedLate('part', 500n);
    expect(await assign('part', orderId)).toMatchObject({ outcome: 'assigned', booked: 'amount-mismatch' });
    expect(await openUnder('part')).toEqual(['amount-mismatch']);
    await notify('part', 't-part', 700n);
    expect(await desk.openOf('part')).toMatchObject([{ reason: 'attempt-mismatch', amount: 700 }, { amount: 500 }]);
  });

  it('are closed together if the payment is assigned to their order, which does not need it', async () => {
    const orderId = await placedLate('unneeded', 1_999n, 'keeper');
    await desk.shop.register.execute({ orderId, ...desk.attempt('other') });
    await notify('other', 't-other', 1_999n, 1);
    expect(await assign('unneeded', orderId)).toMatchObject({ outcome: 'assigned', booked: 'surplus' });
    expect(await openUnder('unneeded')).toEqual(['surplus']);
    const other = await desk.placed();
    expect(await desk.report(other, 'unneeded')).toMatchObject({ outcome: 'attempt-mismatch' });
    expect(await desk.openOf('unneeded')).toMatchObject([{ reason: 'attempt-mismatch', orderId: other }, {}]);
  });

  it('are reopened together', async () => {
    await paidBySecond('again');
    const id = await idOf('again');
    await settle('again');
    const reopening = { id, reason: 'the wire came back' };
    expect(await desk.shop.unmatched.reopen(reopening, { by: ANNA })).toMatchObject({ outcome: 'reopened' });
    expect(await openUnder('again', 'again-1')).toEqual(['unknown-order', 'attempt-mismatch']);
  });

  it('under several names are closed together if the payment is assigned to their order', async () => {
    await notify('pi', 'ch');
    await anHourLater('pi');
    const orderId = await desk.placed({ attempt: desk.attempt('cs') });
    await notify('cs', 'pi');
    expect(await openUnder('pi', 'cs')).toEqual(['unknown-order', 'attempt-mismatch']);
    expect(await assign('pi', orderId)).toMatchObject({ outcome: 'assigned', booked: 'paid' });
    expect(await openUnder('pi', 'cs')).toEqual([]);
  });

  it('are settled together if both payments came before the order', async () => {
    await notify('early', 'early-1');
    await notify('early', 'early-2');
    await anHourLater('early');
    await desk.placed({ attempt: desk.attempt('early') });
    await notify('early', 'early-2');
    await settle('early-2');
    const open = await desk.shop.dataSource.query<object[]>(
      `SELECT 1 FROM ${SCHEMA}.unmatched_payment WHERE evidence->>'transactionId' = 'early-2' AND handling = 'kept'`,
    );
    expect(open).toEqual([]);
  });
});

describe("a report's row and the provider's row of one payment", () => {
  let desk: OperatorDesk;
  beforeAll(async () => {
    desk = await openDesk();
  });
  afterAll(() => desk.shop.database.drop());

  const money = { amount: 1_999n, currency: 'EUR', evidence: {} };
  /** Money of no order, told an hour ago. */
  const told = async (reference: string, transactionId = `t-${reference}`): Promise<void> => {
    await post(desk, { type: 'PAID', reference, ...money, paidAt: new Date(), transactionId });
    await desk.shop.dataSource.query(
      `UPDATE ${SCHEMA}.unmatched_payment SET created_at = now() - interval '1 hour' WHERE reference = $1`,
      [reference],
    );
  };
  /** A report about such money, which is refused. */
  const claimed = async (reference: string, transactionId?: string, amount = 1_999): Promise<string> => {
    const orderId = await desk.placed({ merchantId: 'keeper' });
    const report = { orderId, ...desk.attempt(reference), amount, currency: 'EUR', transactionId };
    expect(await desk.shop.markPaid.execute(report)).toMatchObject({ outcome: 'attempt-mismatch' });
    return orderId;
  };
  const rowOf = async (reference: string, reason: string): Promise<string> => {
    const rows = await desk.shop.dataSource.query<{ id: string }[]>(
      `SELECT id FROM ${SCHEMA}.unmatched_payment WHERE reference = $1 AND reason = $2`,
      [reference, reason],
    );
    return rows[0]?.id ?? '';
  };
  const decide = async (what: 'settle' | 'reopen', reference: string, reason: string): Promise<void> => {
    const id = await rowOf(reference, reason);
    const result = await desk.shop.unmatched[what]({ id, reason: 'wire 4711' }, { by: ANNA });
    expect(result).toMatchObject({ outcome: what === 'settle' ? 'settled' : 'reopened' });
  };
  const openOf = async (prefix: string): Promise<string[]> => {
    const rows = await desk.shop.dataSource.query<{ text: string }[]>(
      `SELECT reference || ' ' || reason AS text FROM ${SCHEMA}.unmatched_payment
        WHERE reference LIKE $1 AND handling = 'kept' ORDER BY reference, reason`,
      [`%${prefix}%`],
    );
    return rows.map(({ text }) => text);
  };

  it.each([
    ['reference', 'r-a', 'r-a', undefined],
    ['reference and transaction id', 'r-b', 'r-b', 't-r-b'],
    ["provider's own id as the reference", 'r-c', 't-r-c', 'books-4711'],
  ])(
    "are settled and reopened together by the provider's, if the report has the %s",
    async (_what, reference, named, id) => {
      await told(reference);
      await claimed(named, id);
      const open = [`${reference} unknown-order`, `${named} attempt-mismatch`].sort();
      expect(await openOf(reference)).toEqual(open);
      await decide('settle', reference, 'unknown-order');
      expect(await openOf(reference)).toEqual([]);
      await decide('reopen', reference, 'unknown-order');
      expect(await openOf(reference)).toEqual(open);
    },
  );

  it('show only the report if the payment is reopened for the order that has it now', async () => {
    await told('r-d');
    await claimed('r-d');
    await decide('settle', 'r-d', 'unknown-order');
    const orderId = await desk.placed({ attempt: desk.attempt('r-d') });
    await told('r-d');
    expect(await desk.attemptsOf(orderId)).toEqual(['r-d SETTLED']);
    await decide('reopen', 'r-d', 'unknown-order');
    expect([await desk.attemptsOf(orderId), await openOf('r-d')]).toEqual([['r-d PAID'], ['r-d attempt-mismatch']]);
  });

  it('are settled together if the report named an order that was never placed', async () => {
    const report = { orderId: 'never', ...desk.attempt('t-r-e'), amount: 1_999, currency: 'EUR' };
    expect(await desk.shop.markPaid.execute(report)).toEqual({ outcome: 'unknown-order' });
    await told('r-e');
    expect(await openOf('r-e')).toEqual(['r-e unknown-order', 't-r-e unknown-order']);
    await decide('settle', 'r-e', 'unknown-order');
    expect(await openOf('r-e')).toEqual([]);
  });

  it('are not settled by that of the report: whoever dismisses a false report says nothing of the money', async () => {
    await told('r-f');
    await claimed('r-f');
    await decide('settle', 'r-f', 'attempt-mismatch');
    expect(await openOf('r-f')).toEqual(['r-f unknown-order']);
  });

  it.each([
    ['states another amount', 'r-g', 'r-g', undefined, 1_998],
    ['has another transaction id', 'r-h', 'r-h', 'another', 1_999],
  ])('are settled one by one if the report %s', async (_why, reference, named, id, amount) => {
    await told(reference);
    await claimed(named, id, amount);
    await decide('settle', reference, 'unknown-order');
    expect(await openOf(reference)).toEqual([`${named} attempt-mismatch`]);
  });

  it('are settled one by one if the report may mean another payment under the reference', async () => {
    await told('r-i', 'r-i-1');
    await told('r-i', 'r-i-2');
    await claimed('r-i');
    await decide('settle', 'r-i', 'unknown-order');
    expect(await openOf('r-i')).toEqual(['r-i attempt-mismatch', 'r-i-2 unknown-order']);
    await told('r-j', 'r-j-1');
    await claimed('r-j');
    await desk.placed({ attempt: desk.attempt('r-j') });
    await told('r-j', 'r-j-2');
    await decide('settle', 'r-j', 'unknown-order');
    expect(await openOf('r-j')).toContain('r-j attempt-mismatch');
  });

  it('are closed together if the payment is assigned to the order of the report', async () => {
    await told('r-k');
    const orderId = await claimed('t-r-k');
    const assignment = { id: await rowOf('r-k', 'unknown-order'), orderId, reason: 'the receipt names it' };
    expect(await desk.shop.assign.execute(assignment, { by: ANNA })).toMatchObject({ booked: 'paid' });
    expect(await openOf('r-k')).toEqual([]);
  });
});

describe('an operator and an order that want one payment at the same time', () => {
  let desk: OperatorDesk;
  beforeAll(async () => {
    desk = await openDesk();
  });
  afterAll(() => desk.shop.database.drop());

  it('never leave settled money in an order whose row waits for a person again', async () => {
    for (let round = 0; round < 20; round++) {
      const reference = `reopened-${round}`;
      const money = { amount: 1_999n, currency: 'EUR', paidAt: new Date(), transactionId: `t-${reference}` };
      const notify = () => post(desk, { type: 'PAID', reference, ...money, evidence: {} });
      await notify();
      const [{ id } = { id: '' }] = await desk.openOf(reference);
      await desk.shop.settleUnmatched.execute({ id, reason: 'paid back by wire' }, { by: ANNA });
      const orderId = await desk.placed();
      await Promise.all([
        desk.shop.unmatched.reopen({ id, reason: 'the wire came back' }, { by: ANNA }),
        desk.shop.register.execute({ orderId, ...desk.attempt(reference) }),
        notify(),
      ]);
      await settleUntilDone(desk.shop, [orderId]);
      await notify();
      expect([round, await desk.attemptsOf(orderId)]).toEqual([round, [`${reference} PAID`]]);
    }
  });

  it('get a result, or are tried again', async () => {
    for (let round = 0; round < 15; round++) {
      const [assigned, reported] = [`assigned-${round}`, `reported-${round}`];
      const id = await desk.unmatched(assigned);
      await desk.shop.dataSource.query(
        `UPDATE ${SCHEMA}.unmatched_payment SET created_at = now() - interval '1 hour' WHERE id = $1`,
        [id],
      );
      const orders = await Promise.all([desk.placed(), desk.placed(), desk.placed(), desk.placed()]);
      const results = await Promise.all([
        desk.shop.assign.execute({ id, orderId: orders[0], reason: 'the receipt names it' }, { by: ANNA }),
        desk.shop.register.execute({ orderId: orders[1], ...desk.attempt(assigned) }),
        desk.report(orders[2], reported),
        desk.shop.register.execute({ orderId: orders[3], ...desk.attempt(reported) }),
      ]);
      expect(results).toHaveLength(4);
    }
  });
});
