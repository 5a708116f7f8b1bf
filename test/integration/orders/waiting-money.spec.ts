import { randomUUID } from 'node:crypto';
import { ANNA, openDesk, type OperatorDesk } from './operator-desk';
import { post, tellPaid } from './post-notification';
import { reconcile, SCHEMA, settleUntilDone } from './shop';

describe('confirmed money that came long before an order which registers its reference', () => {
  let desk: OperatorDesk;
  beforeAll(async () => {
    desk = await openDesk();
  });
  afterAll(() => desk.shop.database.drop());

  /** Told an hour ago. */
  const told = async (reference: string, transactionId = `t-${reference}`): Promise<string> => {
    await tellPaid(desk, reference, transactionId);
    const [rows] = await desk.shop.dataSource.query<[{ id: string }[]]>(
      `UPDATE ${SCHEMA}.unmatched_payment SET created_at = now() - interval '1 hour'
        WHERE evidence->>'transactionId' = $1 RETURNING id`,
      [transactionId],
    );
    return rows[0]?.id ?? '';
  };
  const dueOrder = async (reference: string): Promise<string> => {
    const orderId = await desk.placed({ attempt: desk.attempt(reference) });
    await desk.expire(orderId);
    return orderId;
  };
  /** The engine parks its timeout. */
  const parked = async (orderId: string, sentence = 'waits for a person'): Promise<void> => {
    const reason = expect.stringContaining(sentence) as string;
    expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'park', reason }]);
    expect(['PENDING', 'CLOSING']).toContain(await desk.statusOf(orderId));
    await desk.endTimeoutsOf(orderId);
  };
  /** What the provider says when it is looked up. */
  const answerPaid = (reference: string, transactionId: string): void => {
    const money = { amount: 1_999n, currency: 'EUR', paidAt: new Date(), transactionId, evidence: {} };
    desk.shop.provider.answerQuery(reference, { type: 'PAID', ...money });
    desk.shop.provider.answerClose(reference, { type: 'PAID' });
  };
  const close = (orderId: string) =>
    desk.shop.close.execute({ orderId, reason: 'asked', attemptsAreClosed: true }, { by: ANNA });
  const settle = (id: string) => desk.shop.unmatched.settle({ id, reason: 'paid back by wire' }, { by: ANNA });

  it('keeps it from being closed at its deadline, like from being closed by an operator', async () => {
    const id = await told('w-1');
    const orderId = await dueOrder('w-1');
    await parked(orderId);
    expect(await close(orderId)).toMatchObject({ code: 'ORDER_HAS_MONEY', payments: [desk.attempt('w-1')] });
    await settle(id);
    expect(await desk.kindsOf(orderId)).toEqual(['order.payment']);
    expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
    expect(await desk.statusOf(orderId)).toBe('CLOSED');
  });

  it('keeps it open until it is settled, if it was the second payment under the reference', async () => {
    await settle(await told('w-2', 'w-2-1'));
    const id = await told('w-2', 'w-2-2');
    const orderId = await dueOrder('w-2');
    await parked(orderId);
    await settle(id);
    expect(await desk.kindsOf(orderId)).toEqual(['order.payment']);
    expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
  });

  it('keeps it open until it is settled, if its amount was not valid', async () => {
    const id = await told('w-11');
    await desk.shop.dataSource.query(`UPDATE ${SCHEMA}.unmatched_payment SET reason = 'invalid-amount' WHERE id = $1`, [
      id,
    ]);
    const orderId = await dueOrder('w-11');
    await parked(orderId);
    await settle(id);
    expect(await desk.kindsOf(orderId)).toEqual(['order.payment']);
    expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
  });

  it('keeps an order open that has no attempt, if it was reported for that order before, until it is settled', async () => {
    const orderId = randomUUID();
    const id = await told('w-12');
    await desk.report(orderId, 'w-12');
    await desk.shop.dataSource.query(
      `UPDATE ${SCHEMA}.unmatched_payment SET created_at = now() - interval '1 hour' WHERE order_id = $1`,
      [orderId],
    );
    await desk.placed({ id: orderId });
    expect(await close(orderId)).toMatchObject({ code: 'ORDER_HAS_MONEY', payments: [desk.attempt('w-12')] });
    await desk.expire(orderId);
    await parked(orderId);
    await settle(id);
    expect(await desk.kindsOf(orderId)).toEqual(['order.payment']);
    expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
  });

  it('keeps it open although its attempts are known to be closed', async () => {
    await told('w-3');
    const orderId = await dueOrder('w-3');
    await desk.shop.dataSource.query(`UPDATE ${SCHEMA}.payment_attempt SET status = 'CLOSED' WHERE order_id = $1`, [
      orderId,
    ]);
    await parked(orderId);
  });

  it('keeps it from being canceled, also if the cancellation had begun', async () => {
    const orderId = await desk.placed({ attempt: desk.attempt('w-4') });
    expect(await desk.shop.cancel.execute({ orderId })).toMatchObject({ outcome: 'cancelling' });
    await desk.shop.dataSource.query(
      `INSERT INTO ${SCHEMA}.unmatched_payment (id, provider, reference, amount, currency, source, evidence, reason, handling, created_at)
       VALUES (gen_random_uuid(), 'fake', 'w-4', 1999, 'EUR', 'provider', '{}', 'unknown-order', 'kept', now() - interval '1 hour')`,
    );
    await parked(orderId);
  });

  it.each([
    ['', 'w-5'],
    [', also a second payment under its reference', 'w-10'],
  ])('lets it close once it is assigned to another order%s', async (second, reference) => {
    if (second) await settle(await told(reference));
    const id = await told(reference, `t-2-${reference}`);
    const orderId = await dueOrder(reference);
    await parked(orderId);
    const right = await desk.placed();
    const assignment = { id, orderId: right, reason: 'the receipt names it' };
    expect(await desk.shop.assign.execute(assignment, { by: ANNA })).toMatchObject({ booked: 'paid' });
    expect(await desk.kindsOf(orderId)).toEqual(['order.payment']);
    expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
    expect([await desk.statusOf(orderId), await desk.statusOf(right)]).toEqual(['CLOSED', 'PAID']);
  });

  it('lets it close once an order that is older than it has got it under another name', async () => {
    const other = await desk.placed({ attempt: desk.attempt('w-13-other'), paymentWindowMs: 86_400_000 });
    await desk.shop.dataSource.query(
      `UPDATE ${SCHEMA}.orders SET created_at = created_at - interval '1 hour' WHERE id = $1`,
      [other],
    );
    await told('w-13', 't-w-13');
    const orderId = await dueOrder('w-13');
    await parked(orderId);
    await told('w-13-other', 't-w-13');
    expect(await desk.rowsOf('w-13')).toContain('unknown-order adopted');
    expect(await desk.kindsOf(orderId)).toEqual(['order.payment']);
    expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
    expect([await desk.statusOf(orderId), await desk.statusOf(other)]).toEqual(['CLOSED', 'PAID']);
  });

  it('lets it close although it was decided about together with the order that has got it under another name', async () => {
    const other = await dueOrder('w-15-other');
    await desk.shop.dataSource.query(
      `UPDATE ${SCHEMA}.orders SET created_at = created_at - interval '2 hours' WHERE id = $1`,
      [other],
    );
    await told('w-15', 't-w-15');
    const orderId = await dueOrder('w-15');
    answerPaid('w-15-other', 't-w-15');
    await desk.endTimeoutsOf(orderId);
    await settleUntilDone(desk.shop, [orderId, other]);
    expect(await desk.statusOf(other)).toBe('PAID');
    expect(await desk.kindsOf(orderId)).toEqual(['order.payment']);
    expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
    expect(await desk.statusOf(orderId)).toBe('CLOSED');
  });

  it('lets it close once the provider tells that it was paid to another account than that of its attempt', async () => {
    await told('w-16');
    const orderId = await desk.placed();
    await desk.shop.register.execute({ orderId, ...desk.attempt('w-16'), merchantAccount: 'm1' });
    await desk.expire(orderId);
    await parked(orderId);
    const money = { amount: 1_999n, currency: 'EUR', paidAt: new Date(), transactionId: 't-w-16', evidence: {} };
    await post(desk, { type: 'PAID', reference: 'w-16', merchantAccount: 'm2', ...money });
    expect(await desk.openOf('w-16')).toMatchObject([{ reason: 'unknown-order', merchantAccount: 'm2' }]);
    expect(await desk.kindsOf(orderId)).toEqual(['order.payment']);
    expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
    expect(await desk.statusOf(orderId)).toBe('CLOSED');
  });

  it('pays it once it is assigned to it, also as a part of its price', async () => {
    const [id, part] = [await told('w-6'), await told('w-9')];
    const [orderId, other] = [await dueOrder('w-6'), await dueOrder('w-9')];
    await parked(orderId);
    await parked(other);
    await desk.shop.dataSource.query(`UPDATE ${SCHEMA}.unmatched_payment SET amount = 500 WHERE id = $1`, [part]);
    const assignTo = (row: string, order: string) =>
      desk.shop.assign.execute({ id: row, orderId: order, reason: 'the receipt names it' }, { by: ANNA });
    expect(await assignTo(id, orderId)).toMatchObject({ booked: 'paid' });
    expect(await assignTo(part, other)).toMatchObject({ booked: 'amount-mismatch' });
    expect(await desk.kindsOf(other)).toEqual(['order.payment']);
    await settleUntilDone(desk.shop, [other]);
    expect(await desk.statusOf(other)).toBe('REFUNDING');
  });

  it('holds back only this order of a batch', async () => {
    await told('w-7');
    const orders = [await dueOrder('w-7'), await dueOrder('w-8'), await desk.placed({ paymentWindowMs: 0 })];
    const outcomes = await settleUntilDone(desk.shop, orders);
    expect(outcomes.map(({ type }) => type)).toEqual(['park', 'done', 'done']);
  });

  it.each(['before', 'after'])(
    'goes back as an assigned part of the price, if this is decided %s the claim of another order ends',
    async (when) => {
      const name = `w-14-${when}`;
      const claimant = await desk.placed({ attempt: desk.attempt(`${name}-claim`) });
      const claim = { orderId: claimant, ...desk.attempt(`${name}-claim`), amount: 1_999, currency: 'EUR' };
      await desk.shop.markPaid.execute({ ...claim, transactionId: `t-${name}` });
      const orderId = await dueOrder(name);
      await tellPaid(desk, name, `t-${name}`, 500n);
      await parked(orderId, 'paid 500 EUR');
      const [row] = await desk.openOf(name);
      const assignment = { id: row?.id ?? '', orderId, reason: 'the receipt names it' };
      expect(await desk.shop.assign.execute(assignment, { by: ANNA })).toMatchObject({ outcome: 'assigned' });
      if (when === 'before') await parked(orderId, 'paid 500 EUR');
      await reconcile(desk.shop, claimant);
      expect(await desk.kindsOf(orderId)).toEqual(['order.payment']);
      expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
      expect(await desk.statusOf(orderId)).toBe('REFUNDING');
    },
  );
});
