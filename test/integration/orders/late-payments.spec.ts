import { PAYMENT_REFUND, ORDER_LATE_WATCH } from '../../../src/orders/model/order-timeouts';
import { refundNumber } from '../../../src/orders/model/unmatched-money';
import { type OrderPolicyOptions } from '../../../src/orders/model/order-policies';
import { type DueTimeout, type TimeoutOutcome } from '../../../src/timeouts';
import {
  dueOf,
  eventsOf,
  fill,
  newOrder,
  reconcile,
  notified,
  openShop,
  runOnce,
  SCHEMA,
  settle,
  settleUntilDone,
  type Shop,
  stockOf,
} from './shop';

const REFUNDING_MERCHANT = 'refunder';
const KEEPING_MERCHANT = 'keeper';
const REVIVING_MERCHANT = 'reviver';
const HOUR = 3_600_000;

const policies: OrderPolicyOptions = {
  reminderOffsetsMs: [],
  merchants: {
    [REFUNDING_MERCHANT]: { latePayment: 'refund' },
    [KEEPING_MERCHANT]: { latePayment: 'keep', surplusPayment: 'keep' },
    [REVIVING_MERCHANT]: { latePayment: 'revive-if-stock', surplusPayment: 'keep' },
  },
};

describe('late, surplus, and partial payments', () => {
  let shop: Shop;

  beforeAll(async () => {
    shop = await openShop(policies);
    await fill(shop, { apple: 1_000, pear: 1 });
  });
  afterAll(() => shop.database.drop());

  const attempt = (reference: string) => ({ provider: 'fake', reference });

  async function closed(overrides: Parameters<typeof newOrder>[0] = {}, reference = ''): Promise<string> {
    const { id } = newOrder();
    const own = reference === '' ? {} : { paymentWindowMs: 60_000, attempt: attempt(reference) };
    const [result] = await shop.place.execute([newOrder({ id, ...own, ...overrides })]);
    expect(result).toMatchObject({ outcome: 'placed' });
    if (reference !== '') await expire(id);
    expect(await settleUntilDone(shop, [id])).toEqual([{ type: 'done' }]);
    expect(await statusOf(id)).toBe('CLOSED');
    return id;
  }

  const expire = (id: string) =>
    shop.dataSource.query(`UPDATE ${SCHEMA}.orders SET expires_at = now() - interval '1 second' WHERE id = $1`, [id]);
  const statusOf = async (id: string) => (await shop.readOrder.execute(id))?.status;
  const attemptsOf = async (id: string) =>
    (await shop.readOrder.execute(id))?.attempts.map(({ reference, status }) => `${reference} ${status}`);
  const eventNames = async (id: string) => (await eventsOf(shop, id)).map((event) => event.routing_key);
  const pay = (orderId: string, reference: string, amount = 1_999, currency = 'EUR') =>
    notified(shop, orderId, reference, amount, currency);
  const handlingOf = async (id: string) =>
    (
      await shop.dataSource.query<{ reason: string; handling: string }[]>(
        `SELECT reason, handling FROM ${SCHEMA}.unmatched_payment WHERE order_id = $1 ORDER BY id`,
        [id],
      )
    ).map(({ reason, handling }) => `${reason} ${handling}`);

  /** One run of a kind, as the engine makes it: settle, look up outside the transaction, settle. */
  function round(kind: string, key: string, payload: DueTimeout['payload'] = {}): Promise<TimeoutOutcome> {
    const due = dueOf(key, { kind, payload });
    return kind === PAYMENT_REFUND ? runOnce(shop, shop.refunding, due) : runOnce(shop, shop.watching, due);
  }

  const refund = (reference: string) => round(PAYMENT_REFUND, refundNumber(attempt(reference)));
  const watch = (id: string, since = new Date(Date.now() - 61_000)) =>
    round(ORDER_LATE_WATCH, id, { since: since.toISOString() });

  describe('after closing', () => {
    it('revives the order if its goods are in stock, and sells them', async () => {
      const before = await stockOf(shop, 'apple');
      const id = await closed();
      expect(await pay(id, 'late-revived')).toMatchObject({ outcome: 'late', order: { status: 'PAID' } });
      expect(await stockOf(shop, 'apple')).toEqual({ onHand: before.onHand - 1, reserved: before.reserved });
      expect(await eventNames(id)).toEqual(['order.closed', 'order.paid', 'order.payment_late']);
      expect(await handlingOf(id)).toEqual(['late revived']);
      const history = (await shop.history.execute(id)) ?? [];
      expect(history.map(({ to, reason }) => `${to} ${reason}`)).toEqual([
        'PENDING null',
        'CLOSED expired',
        'PAID revived',
      ]);
    });

    it('refunds the money if the goods are sold, once, however often it is reported', async () => {
      const lines = [{ sku: 'pear', quantity: 1, unitAmount: 1_999 }];
      const id = await closed({ lines });
      await shop.place.execute([newOrder({ lines, paymentWindowMs: HOUR })]);
      for (let report = 0; report < 3; report++) {
        expect(await pay(id, 'late-pear')).toMatchObject({ outcome: 'late', order: { status: 'REFUNDING' } });
      }
      expect(await stockOf(shop, 'pear')).toEqual({ onHand: 1, reserved: 1 });
      expect(await refund('late-pear')).toEqual({ type: 'done' });
      expect(await statusOf(id)).toBe('CLOSED_REFUNDED');
      expect(await attemptsOf(id)).toEqual(['late-pear REFUNDED']);
      expect(await eventNames(id)).toEqual(['order.closed', 'order.refunding', 'order.payment_late', 'order.refunded']);
      expect((await eventsOf(shop, id)).at(-1)?.body).toMatchObject({
        refundNumber: refundNumber(attempt('late-pear')),
        refundedAmount: 1_999,
        refundedCurrency: 'EUR',
        reason: 'late',
      });
      expect(await refund('late-pear')).toEqual({ type: 'done' });
      expect(shop.provider.refunds.filter(({ attempt: { reference } }) => reference === 'late-pear')).toHaveLength(1);
    });

    it('refunds it immediately if the policy of the merchant says so', async () => {
      const id = await closed({ merchantId: REFUNDING_MERCHANT });
      expect(await pay(id, 'late-refund')).toMatchObject({ outcome: 'late', order: { status: 'REFUNDING' } });
      expect(await handlingOf(id)).toEqual(['late refunding']);
    });

    it('keeps it for a person if the policy says so', async () => {
      const id = await closed({ merchantId: KEEPING_MERCHANT });
      expect(await pay(id, 'late-kept')).toMatchObject({ outcome: 'late', order: { status: 'CLOSED' } });
      expect(await handlingOf(id)).toEqual(['late kept']);
      expect(await attemptsOf(id)).toEqual(['late-kept PAID']);
    });

    it('tells a person once of what is kept, when another payment revives the order', async () => {
      const id = await closed({ merchantId: KEEPING_MERCHANT });
      await pay(id, 'late-first');
      await pay(id, 'late-second');
      expect(await handlingOf(id)).toEqual(['late kept', 'late kept']);
      const change = `UPDATE ${SCHEMA}.orders SET merchant_id = $1 WHERE id = $2`;
      await shop.dataSource.query(change, [REVIVING_MERCHANT, id]);
      expect(await pay(id, 'late-first')).toMatchObject({ order: { status: 'PAID' } });
      expect(await handlingOf(id)).toEqual(['late adopted', 'late adopted', 'surplus kept']);
    });

    it('never revives a canceled order', async () => {
      const { id } = newOrder();
      await shop.place.execute([newOrder({ id, paymentWindowMs: HOUR })]);
      await shop.cancel.execute({ orderId: id });
      expect(await pay(id, 'late-cancelled')).toMatchObject({ order: { status: 'REFUNDING' } });
      expect(await refund('late-cancelled')).toEqual({ type: 'done' });
      expect(await statusOf(id)).toBe('CLOSED_REFUNDED');
    });

    it('does not revive for less than the total', async () => {
      const id = await closed();
      expect(await pay(id, 'late-part', 1_000)).toMatchObject({ order: { status: 'REFUNDING' } });
    });

    it('refunds a payment that arrives after a refund, too', async () => {
      const id = await closed({ merchantId: REFUNDING_MERCHANT });
      await pay(id, 'late-1');
      await refund('late-1');
      expect(await pay(id, 'late-2')).toMatchObject({ order: { status: 'REFUNDING' } });
      await refund('late-2');
      expect(await statusOf(id)).toBe('CLOSED_REFUNDED');
    });

    it('stays in REFUNDING until the last of several refunds is done', async () => {
      const id = await closed({ merchantId: REFUNDING_MERCHANT });
      await pay(id, 'both-1');
      await pay(id, 'both-2');
      await refund('both-1');
      expect(await statusOf(id)).toBe('REFUNDING');
      await refund('both-2');
      expect(await statusOf(id)).toBe('CLOSED_REFUNDED');
      expect((await eventNames(id)).filter((name) => name === 'order.refunded')).toHaveLength(2);
    });
  });

  describe('in addition to another payment', () => {
    it('refunds the second payment, and leaves the order paid', async () => {
      const { id } = newOrder();
      await shop.place.execute([newOrder({ id, paymentWindowMs: HOUR })]);
      await pay(id, 'first');
      expect(await pay(id, 'second')).toMatchObject({ outcome: 'surplus', order: { status: 'PAID' } });
      expect(await refund('second')).toEqual({ type: 'done' });
      expect(await attemptsOf(id)).toEqual(['first PAID', 'second REFUNDED']);
      expect(await statusOf(id)).toBe('PAID');
      expect(await eventNames(id)).toEqual(['order.paid', 'order.payment_late', 'order.refunded']);
    });

    it('refunds a second payment that is found while closing', async () => {
      const { id } = newOrder();
      await shop.place.execute([newOrder({ id, paymentWindowMs: HOUR, attempt: attempt('found-1') })]);
      await shop.register.execute({ orderId: id, ...attempt('found-2') });
      await expire(id);
      shop.provider.paid('found-1');
      shop.provider.paid('found-2');
      expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
      expect((await attemptsOf(id))?.sort()).toEqual(['found-1 PAID', 'found-2 REFUNDING']);
      expect(await handlingOf(id)).toEqual(['surplus refunding']);
    });
  });

  describe('too little at the deadline', () => {
    it('closes the order, releases its stock, and refunds the money', async () => {
      const before = await stockOf(shop, 'apple');
      const { id } = newOrder();
      await shop.place.execute([newOrder({ id, paymentWindowMs: HOUR })]);
      expect(await pay(id, 'half', 1_000)).toMatchObject({ outcome: 'amount-mismatch' });
      await expire(id);
      shop.provider.answerQuery('half', { type: 'UNKNOWN', reason: '503' });
      expect(await settle(shop, [id])).toMatchObject([{ type: 'retry', counted: false }]);
      expect(await statusOf(id)).toBe('CLOSING');
      shop.provider.paid('half', 1_000n);
      expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
      expect(await statusOf(id)).toBe('REFUNDING');
      expect(await stockOf(shop, 'apple')).toEqual(before);
      expect(await handlingOf(id)).toEqual(['amount-mismatch refunding']);
      expect(await refund('half')).toEqual({ type: 'done' });
      expect(await statusOf(id)).toBe('CLOSED_REFUNDED');
      const ended = ['order.closing', 'order.closed', 'order.refunding', 'order.refunded'];
      expect(await eventNames(id)).toEqual(['order.payment_late', ...ended]);
    });

    it('pays the order if its provider tells of the rest under the same reference', async () => {
      const { id } = newOrder();
      await shop.place.execute([newOrder({ id, paymentWindowMs: HOUR, attempt: attempt('two-halves') })]);
      shop.provider.paid('two-halves', 1_000n);
      await reconcile(shop, id);
      await expire(id);
      const rest = { amount: 999n, currency: 'EUR', paidAt: new Date(), transactionId: 't-rest', evidence: {} };
      shop.provider.answerQuery('two-halves', { type: 'PAID', ...rest });
      expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
      expect([await statusOf(id), await handlingOf(id)]).toEqual(['PAID', ['amount-mismatch completed']]);
    });
  });

  it('is booked, whatever characters the provider sends with it', async () => {
    const { id } = newOrder();
    await shop.place.execute([newOrder({ id, paymentWindowMs: HOUR, attempt: attempt('odd-text') })]);
    await expire(id);
    const cut = '\u{1F600}'.slice(0, 1);
    const evidence = { note: `a\0b${cut}`, ['k\0']: [cut] };
    const odd = {
      type: 'PAID',
      amount: 1_999n,
      currency: 'EUR',
      paidAt: new Date(),
      transactionId: `t\0${cut}`,
      evidence,
    };
    shop.provider.answerQuery('odd-text', odd as never);
    expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
    expect(await statusOf(id)).toBe('PAID');
  });

  it('is reported with its handling: a partial payment waits, and is refunded at the deadline', async () => {
    const { id } = newOrder();
    await shop.place.execute([newOrder({ id, paymentWindowMs: HOUR })]);
    await pay(id, 'told-part', 1_000);
    expect(await handlingOf(id)).toEqual(['amount-mismatch waiting']);
    await pay(id, 'told-part', 1_500);
    expect(await handlingOf(id)).toEqual(['amount-mismatch waiting', 'attempt-mismatch kept']);
  });

  it('cannot be reported without a currency or an amount', async () => {
    await expect(pay('any', 'bad', 0)).rejects.toThrow(/amount must be an integer or a bigint from 1/);
    await expect(pay('any', 'bad', 1, 'EURO')).rejects.toThrow(/currency must be an ISO 4217 code/);
  });

  describe('a refund', () => {
    async function refunding(reference: string): Promise<string> {
      const id = await closed({ merchantId: REFUNDING_MERCHANT });
      await pay(id, reference);
      return id;
    }

    it('is requested again with the same number while the provider is unavailable or processes it', async () => {
      const id = await refunding('slow');
      shop.provider.answerRefund('slow', { type: 'UNKNOWN', reason: 'down' });
      expect(await refund('slow')).toMatchObject({ type: 'retry', counted: false });
      shop.provider.answerRefund('slow', { type: 'PENDING' });
      expect(await refund('slow')).toMatchObject({ type: 'retry', counted: false });
      expect(await statusOf(id)).toBe('REFUNDING');
      shop.provider.answerRefund('slow', undefined);
      expect(await refund('slow')).toEqual({ type: 'done' });
      const numbers = shop.provider.refunds
        .filter((one) => one.attempt.reference === 'slow')
        .map((one) => one.refundNumber);
      expect(new Set(numbers)).toEqual(new Set([refundNumber(attempt('slow'))]));
    });

    it('counts toward parking only if the provider rejects it', async () => {
      await refunding('poor');
      shop.provider.answerRefund('poor', { type: 'REJECTED', reason: 'the balance is too low' });
      expect(await refund('poor')).toEqual({
        type: 'retry',
        counted: true,
        reason: 'the provider rejects the refund: the balance is too low',
      });
    });

    it('that a person has paid back is recorded without a call to the provider', async () => {
      const id = await refunding('by-hand');
      await shop.dataSource.query(
        `UPDATE ${SCHEMA}.refund SET status = 'REFUNDED', refund_id = 'wire 1' WHERE order_id = $1`,
        [id],
      );
      expect(await refund('by-hand')).toEqual({ type: 'done' });
      expect(await statusOf(id)).toBe('CLOSED_REFUNDED');
      expect((await eventsOf(shop, id)).at(-1)?.body).toMatchObject({ refundId: 'wire 1' });
      expect(shop.provider.refunds.filter((one) => one.attempt.reference === 'by-hand')).toEqual([]);
    });

    it('is reported with the paid amount', async () => {
      await refunding('told');
      await refund('told');
      expect(shop.provider.refunds.find((one) => one.attempt.reference === 'told')).toMatchObject({
        amount: 1_999n,
        paidAmount: 1_999n,
        currency: 'EUR',
        reason: 'late',
      });
    });
  });

  describe('the payment watch', () => {
    const watchesOf = (id: string) =>
      shop.dataSource.query<{ due_at: Date; payload: { since: string } }[]>(
        `SELECT due_at, payload FROM ${SCHEMA}.timeout WHERE kind = '${ORDER_LATE_WATCH}' AND key = $1`,
        [id],
      );

    it('begins a minute after an order with attempts was closed, and not for others', async () => {
      const id = await closed({}, 'watched');
      const [timeout] = await watchesOf(id);
      const since = new Date(timeout?.payload.since ?? '');
      expect((timeout?.due_at.getTime() ?? 0) - since.getTime()).toBe(60_000);
      expect(await watchesOf(await closed())).toEqual([]);
    });

    it('begins for an order that was paid by another attempt', async () => {
      const { id } = newOrder();
      await shop.place.execute([newOrder({ id, paymentWindowMs: HOUR, attempt: attempt('beaten') })]);
      await pay(id, 'winner');
      expect(await watchesOf(id)).toEqual([]);
      expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
      expect(await watchesOf(id)).toHaveLength(1);
    });

    it('finds money of a closed attempt, and revives the order', async () => {
      const id = await closed({}, 'paid-later');
      shop.provider.paid('paid-later');
      expect(await watch(id)).toMatchObject({ type: 'reschedule' });
      expect(await statusOf(id)).toBe('PAID');
      expect(await attemptsOf(id)).toEqual(['paid-later PAID']);
    });

    it('closes an attempt again that is open again', async () => {
      const id = await closed({}, 'reopened');
      shop.provider.reopen('reopened');
      const closes = () => shop.provider.calls.filter((call) => call === 'close reopened').length;
      const before = closes();
      await watch(id);
      expect(closes()).toBe(before + 1);
      expect(await statusOf(id)).toBe('CLOSED');
    });

    it('continues from round to round, and ends after the last', async () => {
      const id = await closed({}, 'rounds');
      const since = (ms: number) => new Date(Date.now() - ms);
      const next = async (ms: number) => {
        const start = since(ms);
        const outcome = await watch(id, start);
        return outcome.type === 'reschedule' ? outcome.dueAt.getTime() - start.getTime() : outcome.type;
      };
      expect(await next(61_000)).toBe(600_000);
      expect(await next(601_000)).toBe(2 * HOUR);
      expect(await next(2 * HOUR + 1_000)).toBe(25 * HOUR);
      expect(await next(25 * HOUR + 1_000)).toBe('done');
    });

    const lastRound = (): Date => new Date(Date.now() - 26 * HOUR);

    it('begins anew, once, if its last round has closed an attempt', async () => {
      const id = await closed({}, 'reopened-late');
      shop.provider.reopen('reopened-late');
      expect(await watch(id, lastRound())).toEqual({ type: 'done' });
      const [timeout] = await watchesOf(id);
      expect(timeout?.payload).toEqual({ since: expect.any(String) as string, isAnew: true });
      expect(Date.parse(timeout?.payload.since ?? '')).toBeGreaterThan(Date.now() - HOUR);
      shop.provider.reopen('reopened-late');
      const again = { since: lastRound().toISOString(), isAnew: true };
      expect(await round(ORDER_LATE_WATCH, id, again)).toEqual({ type: 'done' });
      expect(await watchesOf(id)).toEqual([timeout]);
    });

    it('begins anew with the next look-up of an attempt that gave no answer', async () => {
      const { id } = newOrder();
      await shop.place.execute([newOrder({ id, paymentWindowMs: HOUR, attempt: attempt('open-again') })]);
      await shop.register.execute({ orderId: id, ...attempt('silent-late') });
      await expire(id);
      await settleUntilDone(shop, [id]);
      shop.provider.reopen('open-again');
      shop.provider.answerQuery('silent-late', { type: 'UNKNOWN', reason: 'down' });
      expect(await watch(id, lastRound())).toEqual({ type: 'done' });
      const [timeout] = await watchesOf(id);
      expect(timeout?.payload).toMatchObject({ isAnew: true });
      const waitMs = (timeout?.due_at.getTime() ?? 0) - Date.parse(timeout?.payload.since ?? '');
      expect(waitMs).toBe(2_000);
    });

    it('looks up again soon if it got no answer', async () => {
      const id = await closed({}, 'silent');
      shop.provider.answerQuery('silent', { type: 'UNKNOWN', reason: 'down' });
      expect(await watch(id)).toMatchObject({ type: 'retry', counted: false, afterMs: 2_000 });
    });
  });
});
