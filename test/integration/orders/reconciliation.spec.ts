import { PAYMENT_RECONCILIATION } from '../../../src/orders/model/order-timeouts';
import { ReconcilePayments } from '../../../src/orders/pay/reconcile-payments';
import { type DueTimeout } from '../../../src/timeouts';
import { paymentSteps } from './payment-steps';
import { post } from './post-notification';
import {
  dueOf,
  eventsOf,
  fill,
  newOrder,
  openShop,
  reconcile,
  runOnce,
  SCHEMA,
  settleUntilDone,
  type Shop,
  timeoutsOf,
  unmatchedOf,
} from './shop';

const HOUR = 3_600_000;

describe('the look-up of payments', () => {
  let shop: Shop;
  const { attempt, placed, report, confirm, statusOf } = paymentSteps(() => shop);

  beforeAll(async () => {
    shop = await openShop({
      reminderOffsetsMs: [60_000, 600_000],
      merchants: { keeper: { surplusPayment: 'keep' } },
    });
    await fill(shop, { apple: 1_000, red: 1_000, blue: 1_000 });
  });
  afterAll(() => shop.database.drop());

  const callsOf = (reference: string) =>
    shop.provider.calls.filter((call) => call.endsWith(` ${reference}`)).map((call) => call.split(' ')[0]);
  const isScheduled = async (id: string): Promise<boolean> =>
    (await shop.scheduler.find({ kind: PAYMENT_RECONCILIATION, key: id })) !== undefined;
  const attemptsOf = async (id: string) =>
    (await shop.readOrder.execute(id))?.attempts.map(({ reference, status }) => `${reference} ${status}`).sort();

  /** The shop reports the first attempt by mistake, and the buyer pays by the second. */
  async function paidTwice(name: string, merchantId: string): Promise<string> {
    const [reported, real] = [`${name}-reported`, `${name}-real`];
    const id = await placed({ attempt: attempt(reported), merchantId });
    await shop.register.execute({ orderId: id, ...attempt(real) });
    await report(id, reported);
    shop.provider.paid(real);
    await confirm(id, real);
    expect(await statusOf(id)).toBe('PAID');
    return id;
  }

  describe.each(['shop', 'keeper'])('of a reported payment that the order of merchant %s does not need', (merchant) => {
    it('closes its attempt if the provider says that it is open', async () => {
      const reference = `open-${merchant}`;
      const id = await paidTwice(reference, merchant);
      expect(await isScheduled(id)).toBe(true);
      expect(await reconcile(shop, id)).toEqual({ type: 'done' });
      expect(callsOf(`${reference}-reported`)).toEqual(expect.arrayContaining(['query', 'close']));
      expect(callsOf(`${reference}-real`)).not.toContain('close');
      expect(await attemptsOf(id)).toEqual([`${reference}-real PAID`, `${reference}-reported PAID`]);
      expect(await shop.unmatched.list()).toContainEqual(
        expect.objectContaining({ reference: `${reference}-reported`, reason: 'surplus', handling: 'kept' }),
      );
    });

    it('is repeated while the attempt cannot be closed', async () => {
      const reference = `stuck-${merchant}`;
      const id = await paidTwice(reference, merchant);
      shop.provider.answerQuery(`${reference}-reported`, { type: 'OPEN' });
      shop.provider.answerClose(`${reference}-reported`, { type: 'UNKNOWN', reason: 'down' });
      expect(await reconcile(shop, id)).toMatchObject({ type: 'retry', counted: false });
    });
  });

  it('closes the attempt of the false one of two reports after it has confirmed the other', async () => {
    const id = await placed({ attempt: attempt('lie') });
    await shop.register.execute({ orderId: id, ...attempt('truth') });
    await report(id, 'lie');
    await report(id, 'truth');
    shop.provider.paid('truth');
    expect(await reconcile(shop, id)).toMatchObject({ type: 'retry', counted: false, afterMs: 0 });
    expect(await reconcile(shop, id)).toEqual({ type: 'done' });
    expect([callsOf('lie'), callsOf('truth')]).toEqual([
      ['query', 'query', 'close', 'query'],
      ['query', 'query'],
    ]);
    expect(await attemptsOf(id)).toEqual(['lie PAID', 'truth PAID']);
  });

  it('closes the row of a report that is needed after it was confirmed', async () => {
    const id = await placed({ attempt: attempt('doubted') });
    await report(id, 'doubted');
    await confirm(id, 'stray');
    await reconcile(shop, id);
    const openOf = async () =>
      (await shop.unmatched.list({ limit: 1_000 })).flatMap((row) => (row.orderId === id ? [row.reference] : []));
    expect(await openOf()).toEqual(['doubted']);
    await confirm(id, 'doubted');
    expect(await openOf()).toEqual(['stray']);
  });

  it('closes nothing while only a report pays the order', async () => {
    const id = await placed({ attempt: attempt('needed') });
    await report(id, 'needed');
    await reconcile(shop, id);
    expect(callsOf('needed')).toEqual(['query']);
    expect(await statusOf(id)).toBe('PAID');
  });

  it('tells a person that the provider denies the only payment of a PAID order, until it confirms it', async () => {
    const id = await placed({ attempt: attempt('denied') });
    const rows = async (): Promise<string[]> =>
      (await shop.unmatched.list({ limit: 1_000 })).flatMap(({ orderId, reason, handling, evidence }) =>
        orderId === id ? [`${reason} ${handling} ${String(evidence['reason'])}`] : [],
      );
    await report(id, 'denied');
    shop.provider.answerQuery('denied', { type: 'CLOSED' });
    expect(await reconcile(shop, id)).toMatchObject({ type: 'retry', counted: false });
    expect(await rows()).toEqual([]);
    const lagEnds = 600_000;
    expect(await reconcile(shop, id, lagEnds)).toEqual({ type: 'done' });
    expect(await reconcile(shop, id, lagEnds)).toEqual({ type: 'done' });
    expect(await rows()).toEqual(['attempt-mismatch kept it was reported as paid, but the provider says CLOSED']);
    expect((await eventsOf(shop, id)).filter(({ routing_key }) => routing_key === 'order.payment_late')).toHaveLength(
      1,
    );
    await confirm(id, 'denied');
    expect(await rows()).toEqual([]);
    expect(await statusOf(id)).toBe('PAID');
  });

  describe('after a notification that says only that something has changed', () => {
    const paid = (reference: string, transactionId: string, amount = 1_999n) => {
      const money = { amount, currency: 'EUR', paidAt: new Date(), transactionId, evidence: {} };
      shop.provider.answerQuery(reference, { type: 'PAID', ...money });
    };
    /** Returns the calls of the provider. */
    const changed = async (id: string, reference: string): Promise<(string | undefined)[]> => {
      const before = callsOf(reference).length;
      await post({ shop }, { type: 'STATUS_CHANGED', reference, evidence: {} });
      const found = await shop.scheduler.find({ kind: PAYMENT_RECONCILIATION, key: id });
      const due = dueOf(id, { kind: PAYMENT_RECONCILIATION, payload: found?.payload ?? {} });
      expect(await runOnce(shop, shop.reconciling, due)).toEqual({ type: 'done' });
      return callsOf(reference).slice(before);
    };

    it('asks about a confirmed payment, and books another one that it finds', async () => {
      const id = await placed({ attempt: attempt('again'), merchantId: 'keeper' });
      paid('again', 't-1');
      await changed(id, 'again');
      expect(await statusOf(id)).toBe('PAID');
      expect([await changed(id, 'again'), await attemptsOf(id)]).toEqual([['query'], ['again PAID']]);
      paid('again', 't-2');
      expect([await changed(id, 'again'), await attemptsOf(id)]).toEqual([['query'], ['again PAID', 't-2 PAID']]);
      expect(await unmatchedOf(shop, id)).toMatchObject([{ reason: 'surplus', reference: 't-2' }]);
    });

    it('asks again while the provider does not answer, for a day, and then calls nobody', async () => {
      const id = await placed({ attempt: attempt('silent') });
      paid('silent', 't-silent-1');
      await changed(id, 'silent');
      shop.provider.answerQuery('silent', { type: 'UNKNOWN', reason: '503' });
      expect(await reconcile(shop, id)).toMatchObject({ type: 'retry', counted: false });
      expect(await reconcile(shop, id, 25 * HOUR)).toEqual({ type: 'done' });
      paid('silent', 't-silent-2');
      expect(await reconcile(shop, id)).toEqual({ type: 'done' });
      expect(await attemptsOf(id)).toEqual(['silent PAID', 't-silent-2 PAID']);
    });

    it('finds the rest of the price', async () => {
      const id = await placed({ attempt: attempt('half') });
      paid('half', 't-half-1', 1_000n);
      await changed(id, 'half');
      expect(await statusOf(id)).toBe('PENDING');
      paid('half', 't-half-2', 999n);
      await changed(id, 'half');
      expect([await statusOf(id), await attemptsOf(id)]).toEqual(['PAID', ['half PAID', 't-half-2 PAID']]);
    });

    it('finds another payment of a canceled order whose first was refunded', async () => {
      const id = await placed({ attempt: attempt('ended') });
      await shop.cancel.execute({ orderId: id });
      await settleUntilDone(shop, [id]);
      paid('ended', 't-ended-1');
      await changed(id, 'ended');
      await shop.dataSource.query(`UPDATE ${SCHEMA}.payment_attempt SET status = 'REFUNDED' WHERE order_id = $1`, [id]);
      paid('ended', 't-ended-2');
      await changed(id, 'ended');
      expect(await attemptsOf(id)).toEqual(['ended REFUNDED', 't-ended-2 PAID']);
      expect(await unmatchedOf(shop, id)).toContainEqual(expect.objectContaining({ reference: 't-ended-2' }));
    });

    it.each([
      { type: 'REFUNDED', evidence: {} },
      { type: 'UNKNOWN', reason: 'some or all of it was refunded', needsPerson: true },
    ] as const)('leaves a confirmed payment as it is if its provider says $type', async (answer) => {
      const reference = `back-${answer.type}`;
      const id = await placed({ attempt: attempt(reference) });
      paid(reference, `t-${reference}`);
      await changed(id, reference);
      shop.provider.answerQuery(reference, answer);
      expect(await changed(id, reference)).toEqual(['query']);
      expect([await statusOf(id), await attemptsOf(id), await unmatchedOf(shop, id)]).toEqual([
        'PAID',
        [`${reference} PAID`],
        [],
      ]);
    });
  });

  describe('in a process that does not have its provider', () => {
    /** As during a deployment that adds a provider. */
    const withoutProvider = async (id: string, lateMs = 0) => {
      const handler = (await shop.servicesWith()).get(ReconcilePayments);
      const dueAt = new Date(Date.now() - lateMs);
      return runOnce(shop, handler, dueOf(id, { kind: PAYMENT_RECONCILIATION, dueAt }));
    };

    it('is left to another process for ten minutes if it is confirmed, and then nobody is called', async () => {
      const id = await placed({ attempt: attempt('known-elsewhere') });
      shop.provider.paid('known-elsewhere');
      await reconcile(shop, id);
      expect(await withoutProvider(id)).toMatchObject({ type: 'retry', counted: false, afterMs: 5_000 });
      expect(await withoutProvider(id, 600_000)).toEqual({ type: 'done' });
    });

    it('is left to another process, as that of a closed order', async () => {
      const id = await placed({ attempt: attempt('elsewhere'), paymentWindowMs: 0 });
      await settleUntilDone(shop, [id]);
      shop.provider.paid('elsewhere');
      const counted = {
        type: 'retry',
        counted: true,
        reason: expect.stringContaining('no payment provider') as string,
      };
      expect(await withoutProvider(id)).toMatchObject(counted);
      expect(await reconcile(shop, id)).toEqual({ type: 'done' });
      expect(await statusOf(id)).toBe('PAID');
    });

    it('says nothing about a reported payment that came too late', async () => {
      const id = await placed({ attempt: attempt('unasked'), paymentWindowMs: 0 });
      await shop.cancel.execute({ orderId: id });
      await settleUntilDone(shop, [id]);
      await report(id, 'unasked');
      await withoutProvider(id);
      expect(await shop.unmatched.list({ limit: 1_000 })).not.toContainEqual(
        expect.objectContaining({ reference: 'unasked', handling: 'kept' }),
      );
    });

    it('is over if only a report names the provider, as for cash', async () => {
      const id = await placed();
      await shop.markPaid.execute({
        orderId: id,
        provider: 'cash',
        reference: 'receipt',
        amount: 1_999,
        currency: 'EUR',
      });
      expect(await withoutProvider(id)).toEqual({ type: 'done' });
    });
  });

  it('of many orders does not deadlock with another batch that has the same goods in the opposite order', async () => {
    const line = (sku: string) => [{ sku, quantity: 1, unitAmount: 1_999 }];
    for (let round = 0; round < 10; round++) {
      const ids = await Promise.all(
        ['red', 'blue', 'blue', 'red'].map(async (sku, place) => {
          const id = await placed({ lines: line(sku), attempt: attempt(`batch-${round}-${place}`) });
          shop.provider.paid(`batch-${round}-${place}`);
          return id;
        }),
      );
      const answered = await Promise.all(
        ids.map(async (id) => {
          const due = dueOf(id, { kind: PAYMENT_RECONCILIATION });
          return { ...due, answer: await shop.reconciling.lookUp(due, new AbortController().signal) };
        }),
      );
      const batches: DueTimeout<never>[][] = [answered.slice(0, 2), answered.slice(2)] as never;
      const results = await Promise.allSettled(
        batches.map((batch) => shop.dataSource.transaction((tx) => shop.reconciling.handleBatch(batch, tx))),
      );
      expect(results.map((result) => (result.status === 'rejected' ? String(result.reason) : ''))).toEqual(['', '']);
      for (const id of ids) expect(await statusOf(id)).toBe('PAID');
    }
  });

  it('that pays an order before its deadline leaves no reminder behind', async () => {
    const order = newOrder({ paymentWindowMs: HOUR, attempt: attempt('tidy') });
    await shop.place.execute([order]);
    expect((await timeoutsOf(shop, order.id)).map(({ kind }) => kind)).toEqual([
      'order.payment',
      'order.reminder',
      'order.reminder',
    ]);
    // The money is booked without its order, as while another session holds the stock.
    await shop.dataSource.query(
      `UPDATE ${SCHEMA}.payment_attempt SET status = 'PAID', paid_amount = 1999, paid_currency = 'EUR', paid_at = now(),
              paid_source = 'provider' WHERE reference = 'tidy'`,
    );
    expect(await settleUntilDone(shop, [order.id])).toEqual([{ type: 'done' }]);
    expect(await statusOf(order.id)).toBe('PAID');
    expect((await timeoutsOf(shop, order.id)).filter(({ kind }) => kind === 'order.reminder')).toEqual([]);
  });

  it('by an actor without a cause is recorded as one of the API', async () => {
    const anna = { by: { actor: 'anna' } } as never;
    const id = await placed({ attempt: attempt('caused') });
    expect(await shop.setAutoClose.execute({ orderId: id, enabled: false }, anna)).toMatchObject({ outcome: 'set' });
    expect(await shop.extend.execute({ orderId: id, byMs: HOUR }, anna)).toMatchObject({ outcome: 'extended' });
    expect(await shop.cancel.execute({ orderId: id }, anna)).toMatchObject({ outcome: 'cancelling' });
    const history = (await shop.history.execute(id)) ?? [];
    expect(history.slice(1).map(({ cause, actor }) => `${cause} ${actor}`)).toEqual(Array(3).fill('api anna'));
  });

  it('by nobody whom a caller in plain JavaScript can name is recorded, too, and refuses no payment', async () => {
    const nobody = [null, { cause: null, actor: null, traceparent: null }, { actor: 4711 }];
    for (const [index, by] of nobody.entries()) {
      const id = await placed({ attempt: attempt(`nobody-${index}`) });
      await shop.setAutoClose.execute({ orderId: id, enabled: false }, { by } as never);
      const payment = { orderId: id, ...attempt(`nobody-${index}`), amount: 1_999, currency: 'EUR' };
      expect(await shop.markPaid.execute(payment, { by } as never)).toMatchObject({ outcome: 'paid' });
      const history = (await shop.history.execute(id)) ?? [];
      const actor = index === 2 ? '4711' : null;
      expect(history.slice(1)).toMatchObject(Array(2).fill({ cause: 'api', actor }));
    }
  });
});
