import { openItemsOf } from '../../../src/orders/retention/purge-orders';
import { ANNA, type OperatorDesk, openDesk } from './operator-desk';
import { eraseOrder, purgeOrder } from './forget-order';
import { post } from './post-notification';
import { eventsOf, notified, SCHEMA, settleUntilDone } from './shop';

const FAILED = { type: 'REJECTED', reason: 'refund failed: expired_or_canceled_card' } as const;
const MINUTE = 60_000;

describe('a refund that fails after it succeeded', () => {
  let desk: OperatorDesk;

  beforeAll(async () => {
    desk = await openDesk();
  });
  afterAll(() => desk.shop.database.drop());

  const news = (reference: string) => post(desk, { type: 'STATUS_CHANGED', reference, evidence: {} });

  const run = (orderId: string, ageMs?: number) => desk.runRefundOf(orderId, ageMs);
  const askedFor = (reference: string) =>
    desk.shop.provider.refunds.filter(({ attempt }) => attempt.reference === reference);
  const eventsAfter = async (id: string, seen: number) =>
    (await eventsOf(desk.shop, id)).slice(seen).map(({ routing_key, body }) => `${routing_key} ${String(body.reason)}`);
  const countEvents = async (id: string) => (await eventsOf(desk.shop, id)).length;

  /** A canceled order whose late payment was refunded. */
  async function refunded(reference: string): Promise<string> {
    const id = await desk.placed();
    await desk.shop.cancel.execute({ orderId: id });
    await notified(desk.shop, id, reference);
    expect(await run(id)).toEqual({ type: 'done' });
    expect(await desk.statusOf(id)).toBe('CLOSED_REFUNDED');
    return id;
  }

  it('is asked for again by its number, reopens the order, and is told to a person', async () => {
    const id = await refunded('f-1');
    const seen = await countEvents(id);
    desk.shop.provider.answerRefund('f-1', FAILED);
    await news('f-1');
    expect(await run(id)).toEqual({
      ...{ type: 'retry', counted: true },
      reason: `the refund failed after it was done: ${FAILED.reason}`,
    });
    const numbers = askedFor('f-1').map(({ refundNumber }) => refundNumber);
    expect(numbers).toHaveLength(2);
    expect(new Set(numbers).size).toBe(1);
    expect(await desk.statusOf(id)).toBe('REFUNDING');
    expect(await desk.attemptsOf(id)).toEqual(['f-1 REFUNDING']);
    expect(await desk.openOf('f-1')).toMatchObject([{ reason: 'refund-failed', handling: 'kept', orderId: id }]);
    expect(await eventsAfter(id, seen)).toEqual(['order.refunding refund-failed', 'order.payment_late refund-failed']);
    expect(await desk.lastOf(id)).toMatchObject({ to: 'REFUNDING', reason: 'refund-failed' });
  });

  it('that still stands is asked for twice, a minute apart, and nobody is told', async () => {
    const id = await refunded('f-stands');
    const seen = await countEvents(id);
    await news('f-stands');
    expect(await run(id, 0)).toMatchObject({ type: 'retry', counted: false, afterMs: MINUTE });
    expect(await run(id, MINUTE)).toEqual({ type: 'done' });
    expect(askedFor('f-stands')).toHaveLength(3);
    expect(await desk.statusOf(id)).toBe('CLOSED_REFUNDED');
    expect([await eventsAfter(id, seen), await desk.rowsOf('f-stands')]).toEqual([[], ['late refunding']]);
  });

  it('is asked for again if the provider told of that before its confirmation was stored', async () => {
    const id = await desk.placed();
    await desk.shop.cancel.execute({ orderId: id });
    await notified(desk.shop, id, 'f-early');
    await news('f-early');
    // The provider's own replica may lag behind its news, too.
    expect(await run(id, 0)).toMatchObject({ type: 'retry', counted: false, afterMs: MINUTE });
    desk.shop.provider.answerRefund('f-early', FAILED);
    expect(await run(id, MINUTE)).toMatchObject({ type: 'retry', counted: true });
    expect(await desk.statusOf(id)).toBe('REFUNDING');
    expect(await desk.openOf('f-early')).toMatchObject([{ reason: 'refund-failed' }]);
  });

  it('is not taken for failed because the provider does not answer, or works on it', async () => {
    const id = await refunded('f-unclear');
    await news('f-unclear');
    for (const answer of [{ type: 'UNKNOWN', reason: 'down' }, { type: 'PENDING' }] as const) {
      desk.shop.provider.answerRefund('f-unclear', answer);
      expect(await run(id)).toMatchObject({ type: 'retry', counted: false });
    }
    expect(await desk.statusOf(id)).toBe('CLOSED_REFUNDED');
    expect(await desk.openOf('f-unclear')).toEqual([]);
  });

  it('of a surplus payment leaves the order paid, and is told', async () => {
    const { shop, confirm } = desk;
    const id = await desk.placed({ attempt: desk.attempt('f-first') });
    await confirm(id, 'f-first');
    await notified(shop, id, 'f-second');
    expect(await run(id)).toEqual({ type: 'done' });
    const seen = await countEvents(id);
    shop.provider.answerRefund('f-second', FAILED);
    await news('f-second');
    expect(await run(id)).toMatchObject({ type: 'retry', counted: true });
    expect(await desk.statusOf(id)).toBe('PAID');
    expect(await desk.attemptsOf(id)).toEqual(['f-first PAID', 'f-second REFUNDING']);
    expect(await eventsAfter(id, seen)).toEqual(['order.payment_late refund-failed']);
  });

  it('ends when the provider refunds it after all, and is told again if that fails, too', async () => {
    const id = await refunded('f-again');
    for (const round of [1, 2]) {
      const seen = await countEvents(id);
      desk.shop.provider.answerRefund('f-again', FAILED);
      await news('f-again');
      expect(await run(id)).toMatchObject({ type: 'retry', counted: true });
      expect(await eventsAfter(id, seen)).toContain('order.payment_late refund-failed');
      expect(await desk.openOf('f-again')).toHaveLength(1);
      desk.shop.provider.answerRefund('f-again', undefined);
      expect([round, await run(id)]).toEqual([round, { type: 'done' }]);
      expect(await desk.statusOf(id)).toBe('CLOSED_REFUNDED');
      expect(await desk.openOf('f-again')).toEqual([]);
    }
  });

  describe('or was never done', () => {
    const held = {
      type: 'park',
      reason:
        'held by a chargeback, though the provider may have it already; settle that row, then this one, or replay',
    };
    const rejected = { type: 'retry', counted: true, reason: `the provider rejects the refund: ${FAILED.reason}` };

    it('is told to a person once, who records that the buyer was paid back otherwise', async () => {
      const id = await desk.placed();
      await desk.shop.cancel.execute({ orderId: id });
      desk.shop.provider.answerRefund('f-never', FAILED);
      await notified(desk.shop, id, 'f-never');
      const seen = await countEvents(id);
      for (const round of [1, 2]) expect([round, await run(id)]).toEqual([round, rejected]);
      expect(await eventsAfter(id, seen)).toEqual(['order.payment_late refund-failed']);
      const [row, ...others] = await desk.openOf('f-never');
      expect(row).toMatchObject({
        reason: 'refund-failed',
        orderId: id,
        amount: 1_999,
        evidence: { says: FAILED.reason },
      });
      expect(others).toEqual([]);
      await desk.shop.unmatched.settle({ id: row?.id ?? '', reason: 'wire 4712' }, { by: { actor: 'anna' } });
      const asked = askedFor('f-never').length;
      expect(await run(id)).toEqual({ type: 'done' });
      expect(askedFor('f-never')).toHaveLength(asked);
      expect(await desk.statusOf(id)).toBe('CLOSED_REFUNDED');
      expect((await eventsOf(desk.shop, id)).at(-1)?.body).toMatchObject({ refundId: 'wire 4712' });
    });

    it('needs nobody if the provider refunds it after all', async () => {
      const id = await desk.placed();
      await desk.shop.cancel.execute({ orderId: id });
      desk.shop.provider.answerRefund('f-later', FAILED);
      await notified(desk.shop, id, 'f-later');
      expect(await run(id)).toEqual(rejected);
      expect(await desk.openOf('f-later')).toHaveLength(1);
      desk.shop.provider.answerRefund('f-later', undefined);
      expect(await run(id)).toEqual({ type: 'done' });
      expect([await desk.statusOf(id), await desk.openOf('f-later')]).toEqual(['CLOSED_REFUNDED', []]);
    });

    const chargeback = (reference: string, evidence: Readonly<Record<string, string>> = {}) =>
      post(desk, { type: 'CHARGEBACK', reference, amount: 1_999n, currency: 'EUR', evidence });
    const settle = async (reference: string, reason: string): Promise<void> => {
      const row = (await desk.openOf(reference)).find((one) => one.reason === reason);
      await desk.shop.unmatched.settle({ id: row?.id ?? '', reason: 'won, or lost' }, { by: { actor: 'anna' } });
    };

    it("is no longer asked for once the buyer's bank takes the payment back, until a person has responded", async () => {
      for (const isReplayed of [true, false]) {
        const reference = `f-disputed-${isReplayed}`;
        const id = await desk.placed();
        await desk.shop.cancel.execute({ orderId: id });
        await notified(desk.shop, id, reference);
        await chargeback(reference);
        for (const round of [1, 2]) expect([round, await run(id)]).toEqual([round, held]);
        expect([askedFor(reference), await desk.statusOf(id)]).toEqual([[], 'REFUNDING']);
        expect(await desk.rowsOf(reference)).toEqual(['late refunding', 'chargeback kept', 'refund-failed kept']);
        await settle(reference, isReplayed ? 'chargeback' : 'refund-failed');
        expect(await run(id)).toEqual({ type: 'done' });
        expect([askedFor(reference).length, await desk.statusOf(id)]).toEqual([isReplayed ? 1 : 0, 'CLOSED_REFUNDED']);
      }
    });

    it('is held although a person responds to the chargeback at once, which decides nothing about the money', async () => {
      const id = await desk.placed();
      await desk.shop.cancel.execute({ orderId: id });
      await notified(desk.shop, id, 'f-hasty');
      await chargeback('f-hasty');
      await settle('f-hasty', 'chargeback');
      expect([await run(id), askedFor('f-hasty')]).toEqual([held, []]);
      // The engine runs what is parked only after a person has replayed it.
      expect([await run(id), askedFor('f-hasty').length]).toEqual([{ type: 'done' }, 1]);
    });

    it("is held if the buyer's bank takes back what pays the order instead", async () => {
      const id = await desk.placed({ attempt: desk.attempt('f-instead') });
      await desk.confirm(id, 'f-instead');
      await notified(desk.shop, id, 'f-twice');
      await chargeback('f-instead');
      expect([await run(id), askedFor('f-twice')]).toEqual([held, []]);
      expect(await desk.rowsOf('f-twice')).toEqual(['surplus refunding', 'refund-failed kept']);
      await settle('f-instead', 'chargeback');
      expect([await run(id), await desk.openOf('f-twice')]).toEqual([{ type: 'done' }, []]);
    });

    it("is asked for if a person has begun it since the buyer's bank took the payment back", async () => {
      const id = await desk.closed({ attempt: desk.attempt('f-informed') });
      await chargeback('f-informed');
      await desk.confirm(id, 'f-informed');
      await desk.shop.refund.execute({ orderId: id, ...desk.attempt('f-informed'), reason: 'agreed' }, { by: ANNA });
      expect([await run(id), askedFor('f-informed').length]).toEqual([{ type: 'done' }, 1]);
    });

    it.each(['kept', 'settled'])('is held if the bank goes on after a person has begun it: %s', async (handling) => {
      const reference = `f-between-${handling}`;
      const id = await desk.closed({ attempt: desk.attempt(reference), merchantId: 'keeper' });
      await desk.confirm(id, reference);
      await chargeback(reference, { disputeStatus: 'warning_needs_response' });
      if (handling === 'settled') await settle(reference, 'chargeback');
      await desk.shop.refund.execute({ orderId: id, ...desk.attempt(reference), reason: 'agreed' }, { by: ANNA });
      await chargeback(reference, { disputeStatus: 'needs_response' });
      await chargeback(reference, { disputeStatus: 'needs_response' });
      expect([await run(id), askedFor(reference)]).toEqual([held, []]);
      expect(await desk.rowsOf(reference)).toContain('chargeback kept');
      await settle(reference, 'chargeback');
      expect([await run(id), askedFor(reference).length]).toEqual([{ type: 'done' }, 1]);
    });

    it('has a reason of its own if it was too much of a payment that its order keeps', async () => {
      desk.shop.provider.answerRefund('f-over', FAILED);
      const id = await desk.placed({ merchantId: 'refunder', attempt: desk.attempt('f-over') });
      await desk.confirm(id, 'f-over', 2_500);
      expect(await run(id)).toEqual(rejected);
      expect(await desk.openOf('f-over')).toMatchObject([{ reason: 'excess-refund-failed', amount: 501 }]);
      expect(await desk.statusOf(id)).toBe('PAID');
    });
  });

  it('ends when a person settles it, and then the provider is never asked for it again', async () => {
    const id = await refunded('f-wire');
    desk.shop.provider.answerRefund('f-wire', FAILED);
    await news('f-wire');
    await run(id);
    const [row] = await desk.openOf('f-wire');
    // The engine has parked it.
    await desk.shop.dataSource.query(
      `DELETE FROM ${SCHEMA}.timeout t USING ${SCHEMA}.refund r WHERE r.number = t.key AND r.order_id = $1`,
      [id],
    );
    await desk.shop.unmatched.settle({ id: row?.id ?? '', reason: 'wire 4711' }, { by: { actor: 'anna' } });
    expect(await run(id)).toEqual({ type: 'done' });
    expect(await desk.statusOf(id)).toBe('CLOSED_REFUNDED');
    expect((await eventsOf(desk.shop, id)).at(-1)?.body).toMatchObject({ refundId: 'wire 4711' });
    const asked = askedFor('f-wire').length;
    desk.shop.provider.answerRefund('f-wire', undefined);
    await news('f-wire');
    expect(await run(id)).toBe('not scheduled');
    expect(askedFor('f-wire')).toHaveLength(asked);
    expect(await desk.rowsOf('f-wire')).toEqual(['late refunding', 'refund-failed settled']);
  });

  it.each([
    ['before the refund has ended by that', false],
    ['after it', true],
  ])('is pending again if a person takes the settlement back, %s', async (when, isOver) => {
    const reference = isOver ? 'f-back' : 'f-mistake';
    const id = await refunded(reference);
    desk.shop.provider.answerRefund(reference, FAILED);
    await news(reference);
    await run(id);
    const [row] = await desk.openOf(reference);
    const settlement = { id: row?.id ?? '', reason: 'wire 4711' };
    await desk.shop.unmatched.settle(settlement, { by: { actor: 'anna' } });
    if (isOver) expect([when, await run(id)]).toEqual([when, { type: 'done' }]);
    await desk.shop.unmatched.reopen({ ...settlement, reason: 'the wire came back' }, { by: { actor: 'anna' } });
    expect(await run(id)).toMatchObject({ type: 'retry', counted: true });
    expect(await desk.statusOf(id)).toBe('REFUNDING');
    expect(await desk.attemptsOf(id)).toEqual([`${reference} REFUNDING`]);
    expect(await desk.rowsOf(reference)).toEqual(['late refunding', 'refund-failed kept']);
    desk.shop.provider.answerRefund(reference, undefined);
    expect(await run(id)).toEqual({ type: 'done' });
    expect(await desk.statusOf(id)).toBe('CLOSED_REFUNDED');
    expect(await desk.rowsOf(reference)).toEqual(['late refunding', 'refund-failed refunding']);
  });

  it.each([
    ['erased', (id: string) => eraseOrder(desk, id)],
    ['purged', (id: string) => purgeOrder(desk, id)],
  ])('is told to a person although its order was %s, and moves no money', async (what, forget) => {
    const reference = `f-${what}`;
    const id = await refunded(reference);
    await forget(id);
    const seen = await countEvents(id);
    for (const repetition of [1, 2]) {
      await news(reference);
      expect([repetition, await run(id)]).toEqual([repetition, 'not scheduled']);
    }
    expect(await desk.openOf(reference)).toMatchObject([
      { reason: 'refund-failed', handling: 'kept', source: 'provider', orderId: id, amount: 1_999, currency: 'EUR' },
    ]);
    expect(await eventsAfter(id, seen)).toEqual(['order.payment_late refund-failed']);
    expect(askedFor(reference)).toHaveLength(1);
  });

  it.each(['m1', null])(
    'is told although its attempt had no account at first, and %s when it was purged',
    async (account) => {
      const reference = `f-resolved-${account}`;
      const id = await refunded(reference);
      const resolve = `UPDATE ${SCHEMA}.payment_attempt SET resolved_account = $2 WHERE order_id = $1`;
      await desk.shop.dataSource.query(resolve, [id, account]);
      await purgeOrder(desk, id);
      await post(desk, { type: 'STATUS_CHANGED', reference, merchantAccount: 'm1', evidence: {} });
      expect(await desk.openOf(reference)).toMatchObject([{ reason: 'refund-failed', merchantAccount: 'm1' }]);
    },
  );

  it('is told to a person although its order, which keeps the rest of the payment, was erased', async () => {
    const id = await desk.placed({ merchantId: 'refunder', attempt: desk.attempt('f-excess') });
    await desk.confirm(id, 'f-excess', 2_500);
    expect([await run(id), askedFor('f-excess').map(({ amount }) => amount)]).toEqual([{ type: 'done' }, [501n]]);
    await eraseOrder(desk, id);
    await news('f-excess');
    expect(await desk.openOf('f-excess')).toMatchObject([{ reason: 'refund-failed', handling: 'kept', orderId: id }]);
    expect(await desk.statusOf(id)).toBe('PAID');
  });

  it.each([
    ['erased', (id: string) => eraseOrder(desk, id)],
    ['purged', (id: string) => purgeOrder(desk, id)],
  ])('of a second payment under one reference is told to a person although its order was %s', async (what, forget) => {
    const [reference, second] = [`f-two-${what}`, `t-f-two-${what}-2`];
    const id = await desk.placed({ attempt: desk.attempt(reference) });
    await desk.confirm(id, reference);
    const told = { orderId: id, ...desk.attempt(reference), amount: 500, currency: 'EUR', transactionId: second };
    await desk.shop.markPaid.confirm(told, { cause: 'notify' }, { account: null });
    const request = { orderId: id, ...desk.attempt(second), reason: 'the buyer called' };
    expect(await desk.shop.refund.execute(request, { by: ANNA })).toMatchObject({ outcome: 'refunding' });
    expect(await run(id)).toEqual({ type: 'done' });
    await forget(id);
    await news(reference);
    expect(await desk.openOf(reference)).toMatchObject([{ reason: 'refund-failed', amount: 500, orderId: id }]);
  });

  it('of one of two payments under one reference is told with the sum, because the provider does not say which', async () => {
    const id = await desk.placed({ attempt: desk.attempt('f-both') });
    await desk.shop.cancel.execute({ orderId: id });
    await settleUntilDone(desk.shop, [id]);
    await desk.confirm(id, 'f-both');
    expect(await run(id)).toEqual({ type: 'done' });
    const told = { orderId: id, ...desk.attempt('f-both'), amount: 500, currency: 'EUR', transactionId: 't-f-both-2' };
    await desk.shop.markPaid.confirm(told, { cause: 'notify' }, { account: null });
    const request = { orderId: id, ...desk.attempt('t-f-both-2'), reason: 'the buyer called' };
    expect(await desk.shop.refund.execute(request, { by: ANNA })).toMatchObject({ outcome: 'refunding' });
    expect(await run(id)).toEqual({ type: 'done' });
    await purgeOrder(desk, id);
    await news('f-both');
    expect(await desk.openOf('f-both')).toMatchObject([{ reason: 'refund-failed', amount: 2_499, orderId: id }]);
  });

  it.each([
    ['erased', eraseOrder],
    ['purged', purgeOrder],
  ])('of an excess is told with the excess after its order was %s, which keeps the rest', async (what, forget) => {
    const reference = `f-excess-${what}`;
    const id = await desk.placed({ merchantId: 'refunder', attempt: desk.attempt(reference) });
    await desk.confirm(id, reference, 10_000);
    expect(await run(id)).toEqual({ type: 'done' });
    expect(askedFor(reference).map(({ amount }) => amount)).toEqual([8_001n]);
    await forget(desk, id);
    await desk.confirm(id, reference, 10_000);
    expect(await desk.openOf(reference)).toEqual([]);
    await news(reference);
    expect(await desk.openOf(reference)).toMatchObject([{ reason: 'refund-failed', amount: 8_001, orderId: id }]);
  });

  it.each([
    ['erased', eraseOrder],
    ['purged', purgeOrder],
  ])('is told to nobody if a person has paid the buyer back before the order was %s', async (what, forget) => {
    const reference = `f-by-hand-${what}`;
    const id = await desk.placed();
    await desk.shop.cancel.execute({ orderId: id });
    desk.shop.provider.answerRefund(reference, FAILED);
    await notified(desk.shop, id, reference);
    await run(id);
    const [row] = await desk.openOf(reference);
    await desk.shop.unmatched.settle({ id: row?.id ?? '', reason: 'wire 4711' }, { by: ANNA });
    expect(await run(id)).toEqual({ type: 'done' });
    await forget(desk, id);
    await news(reference);
    expect(await desk.openOf(reference)).toEqual([]);
  });

  it.each([
    ['erased', eraseOrder],
    ['purged', purgeOrder],
  ])('is told under a name that only a report gave to the payment of an order that was %s', async (what, forget) => {
    const [reference, named] = [`f-named-${what}`, `f-alias-${what}`];
    const id = await desk.placed({ attempt: desk.attempt(reference) });
    const report = { orderId: id, ...desk.attempt(named), amount: 1_999, currency: 'EUR', transactionId: reference };
    await desk.shop.markPaid.execute(report);
    await desk.confirm(id, reference);
    const second = { ...report, ...desk.attempt(reference), amount: 500, transactionId: `${named}-2` };
    await desk.shop.markPaid.confirm(second, { cause: 'notify' }, { account: null });
    const request = { orderId: id, ...desk.attempt(`${named}-2`), reason: 'the buyer called' };
    await desk.shop.refund.execute(request, { by: ANNA });
    expect(await run(id)).toEqual({ type: 'done' });
    await forget(desk, id);
    for (const name of [named, named]) await news(name);
    expect(await desk.openOf(named)).toMatchObject([{ reason: 'refund-failed', amount: 500, orderId: id }]);
  });

  it('is told to nobody if an erased order had kept the money that the provider reports a change of', async () => {
    const id = await desk.placed({ attempt: desk.attempt('f-needed') });
    await desk.confirm(id, 'f-needed');
    await eraseOrder(desk, id);
    await news('f-needed');
    expect(await desk.openOf('f-needed')).toEqual([]);
  });

  it('keeps its order from being deleted', async () => {
    const id = await refunded('f-kept');
    desk.shop.provider.answerRefund('f-kept', FAILED);
    await news('f-kept');
    await run(id);
    const open = await desk.shop.dataSource.transaction((tx) =>
      openItemsOf(tx, { schema: SCHEMA }, [id], { kinds: [] }),
    );
    expect(open.get(id)).toEqual(expect.arrayContaining(['timeout', 'refund', 'attempt', 'unmatched-money']));
  });
});
