import { PAYMENT_RECONCILIATION, ORDER_LATE_WATCH } from '../../../src/orders/model/order-timeouts';
import { type PaidOutcome } from '../../../src/payments';
import { paymentSteps } from './payment-steps';
import {
  dueOf,
  fill,
  type newOrder,
  notified,
  openShop,
  reconcile,
  SCHEMA,
  settle,
  settleUntilDone,
  type Shop,
} from './shop';

const MINUTE = 60_000;

describe('the source that vouches for a payment', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop({ reminderOffsetsMs: [], merchants: { refunder: { latePayment: 'refund' } } });
    await fill(shop, { apple: 1_000 });
  });
  afterAll(() => shop.database.drop());

  const { attempt, placed, report, confirm, expire, statusOf } = paymentSteps(() => shop);
  const closed = async (overrides: Parameters<typeof newOrder>[0] = {}) => {
    const id = await placed(overrides);
    await expire(id);
    expect(await settleUntilDone(shop, [id])).toEqual([{ type: 'done' }]);
    return id;
  };
  const attemptsOf = async (id: string) =>
    (await shop.readOrder.execute(id))?.attempts.map(
      (one) => `${one.reference} ${one.status} ${one.paidAmount ?? '-'}`,
    );
  const keptOf = async (id: string) =>
    (
      await shop.dataSource.query<{ text: string }[]>(
        `SELECT reference || ' ' || reason || ' ' || handling AS text FROM ${SCHEMA}.unmatched_payment WHERE order_id = $1 ORDER BY id`,
        [id],
      )
    ).map(({ text }) => text);
  const isScheduled = (id: string) => shop.scheduler.find({ kind: PAYMENT_RECONCILIATION, key: id });

  describe('a report', () => {
    it('of too little is replaced by the notification of the provider, and the order is paid', async () => {
      const id = await placed({ attempt: attempt('coupon') });
      expect(await report(id, 'coupon', 1_499)).toMatchObject({ outcome: 'amount-mismatch' });
      expect(await confirm(id, 'coupon')).toMatchObject({ outcome: 'paid', order: { status: 'PAID' } });
      expect(await attemptsOf(id)).toEqual(['coupon PAID 1999']);
      expect(await keptOf(id)).toEqual(['coupon amount-mismatch completed']);
    });

    it('of too little is looked up at the deadline before anything is refunded', async () => {
      const id = await placed({ attempt: attempt('net-of-coupon') });
      await report(id, 'net-of-coupon', 1_499);
      shop.provider.paid('net-of-coupon', 1_999n);
      await expire(id);
      await settleUntilDone(shop, [id]);
      expect(await statusOf(id)).toBe('PAID');
      expect(await attemptsOf(id)).toEqual(['net-of-coupon PAID 1999']);
      expect(shop.provider.refunds.filter((one) => one.attempt.reference === 'net-of-coupon')).toEqual([]);
    });

    it('that the provider confirms as too little is refunded at the deadline', async () => {
      const id = await placed({ attempt: attempt('truly-half') });
      await report(id, 'truly-half', 999);
      shop.provider.paid('truly-half', 999n);
      await expire(id);
      await settleUntilDone(shop, [id]);
      expect(await statusOf(id)).toBe('REFUNDING');
      expect(await keptOf(id)).toEqual(['truly-half amount-mismatch refunding']);
    });

    it.each([
      ['does not know of', { type: 'CLOSED' }],
      ['has refunded in part', { type: 'UNKNOWN', reason: 'REFUND', needsPerson: true }],
    ] as const)('of a partial payment that the provider %s stays, and a person is told', async (_what, answer) => {
      const reference = `doubtful-${answer.type}`;
      const id = await placed({ attempt: attempt(reference) });
      await report(id, reference, 999);
      shop.provider.answerQuery(reference, answer);
      await expire(id);
      const outcomes = await settleUntilDone(shop, [id], 2);
      expect(outcomes).toMatchObject([answer.type === 'CLOSED' ? { type: 'park' } : { type: 'retry', counted: true }]);
      expect(await statusOf(id)).toBe('CLOSING');
      expect(await attemptsOf(id)).toEqual([`${reference} PAID 999`]);
    });

    it('of a late payment is looked up, and refunded once the provider confirms it', async () => {
      const id = await closed({ merchantId: 'refunder', attempt: attempt('late-told') });
      expect(await report(id, 'late-told')).toMatchObject({ outcome: 'late', order: { status: 'CLOSED' } });
      expect(await isScheduled(id)).toBeDefined();
      shop.provider.paid('late-told', 2_500n);
      expect(await reconcile(shop, id)).toEqual({ type: 'done' });
      expect(await statusOf(id)).toBe('REFUNDING');
      expect(await attemptsOf(id)).toEqual(['late-told REFUNDING 2500']);
    });

    it('of a late payment that the provider does not confirm is kept', async () => {
      const id = await closed({ merchantId: 'refunder', attempt: attempt('late-lie') });
      await report(id, 'late-lie');
      expect(await reconcile(shop, id)).toEqual({ type: 'done' });
      expect(await statusOf(id)).toBe('CLOSED');
      expect(await keptOf(id)).toEqual(['late-lie late kept']);
    });

    it('is looked up with its own back-off while the closing of a paid order waits for the provider, too', async () => {
      const names = ['down-1', 'down-2', 'down-3'];
      const id = await placed();
      for (const name of names) await shop.register.execute({ orderId: id, ...attempt(name) });
      for (const name of names) shop.provider.answerQuery(name, { type: 'UNKNOWN', reason: 'down' });
      expect(await report(id, 'down-1')).toMatchObject({ outcome: 'paid' });
      expect(await report(id, 'down-2')).toMatchObject({ outcome: 'surplus' });
      const scheduled = await isScheduled(id);
      expect(scheduled).toBeDefined();
      expect(await settle(shop, [id])).toMatchObject([{ type: 'retry' }]);
      expect(await isScheduled(id)).toEqual(scheduled);
      for (const name of names) shop.provider.answerQuery(name, { type: 'CLOSED' });
      expect(await settleUntilDone(shop, [id])).toEqual([{ type: 'done' }]);
      expect(await isScheduled(id)).not.toEqual(scheduled);
    });

    it('of an attempt that was not registered is never refunded automatically, even if the provider knows it', async () => {
      const id = await closed({ merchantId: 'refunder' });
      await report(id, 'pi_of_somebody_else');
      shop.provider.paid('pi_of_somebody_else');
      await reconcile(shop, id);
      expect(await keptOf(id)).toEqual(['pi_of_somebody_else late kept']);
      expect(shop.provider.refunds.filter((one) => one.attempt.reference === 'pi_of_somebody_else')).toEqual([]);
    });

    it('of too much leaves the order paid, and a person is told what the provider took', async () => {
      const id = await placed({ attempt: attempt('too-high') });
      expect(await report(id, 'too-high', 1_999)).toMatchObject({ outcome: 'paid' });
      expect(await confirm(id, 'too-high', 1_499)).toMatchObject({ outcome: 'amount-mismatch' });
      expect(await attemptsOf(id)).toEqual(['too-high PAID 1499']);
      expect(await keptOf(id)).toEqual(['too-high amount-mismatch kept']);
    });
  });

  describe('one payment under two names', () => {
    const session = (reference: string, intent: string): PaidOutcome => ({
      ...{ type: 'PAID', amount: 1_999n, currency: 'EUR', paidAt: new Date(), transactionId: intent, evidence: {} },
    });

    it('is not refunded as surplus if the shop reports the intent of its session', async () => {
      const id = await placed({ attempt: attempt('cs_1') });
      expect(await report(id, 'pi_1')).toMatchObject({ outcome: 'paid' });
      shop.provider.answerQuery('cs_1', session('cs_1', 'pi_1'));
      shop.provider.answerClose('cs_1', { type: 'PAID' });
      expect(await settleUntilDone(shop, [id])).toEqual([{ type: 'done' }]);
      expect(await attemptsOf(id)).toEqual(['cs_1 PAID 1999', 'pi_1 DUPLICATE -']);
      expect(await keptOf(id)).toEqual([]);
    });

    it('is booked once if the session is notified first and the intent reported later', async () => {
      const id = await placed({ attempt: attempt('cs_2') });
      await confirm(id, 'cs_2', 1_999, 'pi_2');
      expect(await report(id, 'pi_2')).toMatchObject({ outcome: 'already-paid' });
      expect(await report(id, 'anything', 1_999, 'pi_2')).toMatchObject({ outcome: 'already-paid' });
      expect(await attemptsOf(id)).toEqual(['cs_2 PAID 1999']);
    });

    it('cannot pay two orders', async () => {
      const [owner, thief] = [await placed({ attempt: attempt('cs_3') }), await placed()];
      await confirm(owner, 'cs_3', 1_999, 'pi_3');
      expect(await report(thief, 'pi_3')).toMatchObject({ outcome: 'attempt-mismatch', order: { status: 'PENDING' } });
      expect(await keptOf(thief)).toEqual(['pi_3 attempt-mismatch kept']);
    });

    it('pays the order that registered it, even after a report for another one, and a person is told', async () => {
      const [owner, other] = [await placed({ attempt: attempt('cs_4') }), await placed()];
      await report(other, 'pi_4');
      expect(await confirm(owner, 'cs_4', 1_999, 'pi_4')).toMatchObject({ outcome: 'paid' });
      expect([await keptOf(owner), await keptOf(other)]).toEqual([[], ['pi_4 attempt-mismatch kept']]);
    });

    it('is not refunded for one order while another order counts on it', async () => {
      const owner = await closed({ merchantId: 'refunder', attempt: attempt('cs_5') });
      const other = await placed();
      await report(other, 'pi_5');
      await confirm(owner, 'cs_5', 1_999, 'pi_5');
      expect(await statusOf(owner)).toBe('CLOSED');
      expect(await attemptsOf(owner)).toEqual(['cs_5 PAID 1999']);
      expect((await keptOf(owner)).sort()).toEqual(['cs_5 attempt-mismatch kept', 'cs_5 late kept']);
    });

    it('is matched with money that was kept for an unknown order before', async () => {
      const money = {
        ...attempt('pi_6'),
        merchantAccount: null,
        amount: 1_999n,
        currency: 'EUR',
        transactionId: 'ch_6',
      };
      const why = {
        reason: 'unknown-order',
        handling: 'kept',
        orderId: null,
        source: 'provider',
        evidence: {},
      } as const;
      await shop.dataSource.transaction((tx) => shop.store.keepUnmatched(tx, [{ ...money, ...why, now: new Date() }]));
      const id = await placed({ attempt: attempt('cs_6') });
      await confirm(id, 'cs_6', 1_999, 'pi_6');
      const [row] = await shop.dataSource.query<{ handling: string }[]>(
        `SELECT handling FROM ${SCHEMA}.unmatched_payment WHERE reference = 'pi_6'`,
      );
      expect(row?.handling).toBe('adopted');
    });
  });

  describe('money that the provider has told under a reference that an order registered later, and has not booked yet', () => {
    const told = async (reference: string, ...ids: string[]) => {
      for (const transactionId of ids) {
        const money = { ...attempt(reference), merchantAccount: null, transactionId, amount: 1_000n, currency: 'EUR' };
        const why = { reason: 'unknown-order', handling: 'kept', orderId: null, source: 'provider' } as const;
        const row = { ...money, ...why, evidence: {}, now: new Date() };
        await shop.dataSource.transaction((tx) => shop.store.keepUnmatched(tx, [row]));
      }
      return placed({ amount: 2_000, attempt: attempt(reference) });
    };
    const small = () => placed({ amount: 1_000, attempt: attempt(`own-${Math.random()}`) });

    it.each([
      ['the first, by its id', 'w-first', 'id', undefined],
      ['the second, by its id', 'w-second', 'other', undefined],
      ['the first, for an attempt of its own', 'w-own-first', 'own', 'id'],
      ['the second, for an attempt of its own', 'w-own-second', 'own', 'other'],
    ])('is not for another order that reports it: %s', async (_what, name, reference, transactionId) => {
      const [of, ids] = [(what: string) => `${name}-${what}`, [`${name}-id`, `${name}-other`]];
      const rightful = await told(name, ...ids);
      const claimant = await small();
      if (reference === 'own') await shop.register.execute({ orderId: claimant, ...attempt(of('own')) });
      const id = transactionId && of(transactionId);
      expect(await report(claimant, of(reference), 1_000, id)).toMatchObject({ outcome: 'attempt-mismatch' });
      expect([await statusOf(claimant), await keptOf(claimant)]).toEqual([
        'PENDING',
        [`${of(reference)} attempt-mismatch kept`],
      ]);
      const [row] = (await shop.unmatched.list({ limit: 1_000 })).filter(({ orderId }) => orderId === claimant);
      const assignment = { id: row?.id ?? '', orderId: claimant, reason: 'the receipt says so' };
      expect(await shop.assign.execute(assignment, { by: { actor: 'anna' } })).toMatchObject({ code: 'PAYMENT_TAKEN' });
      await settleUntilDone(shop, [rightful]);
      expect(await attemptsOf(rightful)).toEqual([`${name} PAID 1000`, `${name}-other PAID 1000`]);
      expect(await statusOf(rightful)).toBe('PAID');
    });

    it('is not for an order that is placed after it was reported for it', async () => {
      const rightful = await told('w-later', 'w-later-id', 'w-later-other');
      expect(await report('w-claims', 'w-later-other', 1_000)).toEqual({ outcome: 'unknown-order' });
      await placed({ id: 'w-claims', amount: 1_000 });
      await settleUntilDone(shop, ['w-claims', rightful], 3);
      expect([await statusOf('w-claims'), await attemptsOf('w-claims')]).toEqual(['PENDING', []]);
      expect(await statusOf(rightful)).toBe('PAID');
    });
  });

  describe('a notification without an amount', () => {
    it('starts a look-up, and pays an order without auto-close', async () => {
      const id = await placed({ attempt: attempt('only-changed'), autoClose: false });
      shop.provider.paid('only-changed');
      expect(await reconcile(shop, id)).toEqual({ type: 'done' });
      expect(await statusOf(id)).toBe('PAID');
    });

    it('is looked up again while the provider does not answer, and closes nothing', async () => {
      const id = await placed({ attempt: attempt('change-down') });
      shop.provider.answerQuery('change-down', { type: 'UNKNOWN', reason: 'down' });
      expect(await reconcile(shop, id)).toMatchObject({ type: 'retry', counted: false });
      expect(await statusOf(id)).toBe('PENDING');
      expect(shop.provider.calls).not.toContain('close change-down');
    });

    it('is done if there is nothing to look up', async () => {
      expect(await reconcile(shop, await placed())).toEqual({ type: 'done' });
      expect(await reconcile(shop, 'nobody')).toEqual({ type: 'done' });
    });
  });

  describe('an order without auto-close', () => {
    it('leaves a partial payment to a person, and completes it when the rest arrives', async () => {
      const id = await placed({ attempt: attempt('part-1'), autoClose: false });
      await confirm(id, 'part-1', 1_000);
      expect(await keptOf(id)).toEqual(['part-1 amount-mismatch kept']);
      expect(await notified(shop, id, 'part-2', 999)).toMatchObject({ outcome: 'paid' });
      expect(await keptOf(id)).toEqual(['part-1 amount-mismatch completed']);
    });

    it('leaves a partial payment to a person that had waited for its deadline', async () => {
      const id = await placed({ attempt: attempt('part-3') });
      await confirm(id, 'part-3', 1_000);
      expect(await keptOf(id)).toEqual(['part-3 amount-mismatch waiting']);
      await shop.setAutoClose.execute({ orderId: id, enabled: false });
      expect(await keptOf(id)).toEqual(['part-3 amount-mismatch kept']);
    });
  });

  it('has its age counted from when it is handed over: a young payment needs a confirmation to be closed', async () => {
    const id = await placed();
    await shop.register.execute({ orderId: id, ...attempt('handed-over-late'), handedOver: false });
    await shop.dataSource.query(
      `UPDATE ${SCHEMA}.payment_attempt SET created_at = now() - interval '20 minutes' WHERE reference = 'handed-over-late'`,
    );
    const result = await shop.register.execute({ orderId: id, ...attempt('handed-over-late') });
    const [view] = result.outcome === 'rejected' ? [] : result.order.attempts;
    expect(Date.now() - (view?.createdAt.getTime() ?? 0)).toBeLessThan(5 * MINUTE);
  });

  it('stores a later time limit if the attempt is registered again, and never an earlier one', async () => {
    const now = Math.floor(Date.now() / 1_000) * 1_000;
    const at = (minutes: number) => new Date(now + minutes * MINUTE);
    const id = await placed({ attempt: { ...attempt('limits'), timeExpire: at(10) } });
    const limitOf = async (minutes: number) => {
      await shop.register.execute({ orderId: id, ...attempt('limits'), timeExpire: at(minutes) });
      return (await shop.readOrder.execute(id))?.attempts[0]?.timeExpire;
    };
    expect(await limitOf(30)).toEqual(at(30));
    expect(await limitOf(20)).toEqual(at(30));
  });

  it('looks up an order only as often as its payment watch says, whichever source vouched', async () => {
    const id = await closed({ merchantId: 'refunder', attempt: attempt('watched') });
    const due = dueOf(id, { kind: ORDER_LATE_WATCH, payload: { since: new Date(Date.now() - MINUTE).toISOString() } });
    const answer = await shop.watching.lookUp(due, new AbortController().signal);
    const [outcome] = await shop.dataSource.transaction((tx) => shop.watching.handleBatch([{ ...due, answer }], tx));
    expect(outcome).toMatchObject({ type: 'reschedule' });
  });
});
