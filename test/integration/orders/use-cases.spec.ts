import {
  dueOf,
  eventsOf,
  fill,
  newOrder,
  KEEPING,
  openShop,
  unmatchedOf,
  type Shop,
  SCHEMA,
  settle,
  stockOf,
  timeoutsOf,
} from './shop';

const attempt = (reference: string, more: object = {}) => ({ provider: 'fake', reference, ...more });
const soon = { paymentWindowMs: 600_000 };
const MINUTE = 60_000;

describe('use cases about one order, on PostgreSQL', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop({ ...KEEPING, graceMsByProvider: { slow: 7_000 }, maxPaymentWindowMs: 3_600_000 });
    await fill(shop, { apple: 100_000 });
  });
  afterAll(() => shop.database.drop());
  beforeEach(() => void shop.woken.splice(0));

  const placed = async (overrides: Parameters<typeof newOrder>[0] = {}) => {
    const order = newOrder({ ...soon, ...overrides });
    await shop.place.execute([order]);
    return order.id;
  };
  const pay = (orderId: string, reference: string, more: object = {}) =>
    shop.markPaid.execute({ orderId, provider: 'fake', reference, amount: 1_999, currency: 'EUR', ...more });
  const kinds = async (id: string) => (await timeoutsOf(shop, id)).map((timeout) => timeout.kind);
  const eventNames = async (id: string) => (await eventsOf(shop, id)).map((event) => event.routing_key);

  describe('registering attempts', () => {
    it('registers once, replays the same attempt, and rejects one of another order or amount', async () => {
      const [id, other] = [await placed(), await placed()];
      expect(await shop.register.execute({ orderId: id, ...attempt('reg-1') })).toMatchObject({
        outcome: 'registered',
      });
      expect(await shop.register.execute({ orderId: id, ...attempt('reg-1') })).toMatchObject({ outcome: 'replayed' });
      const taken = { outcome: 'rejected', code: 'ATTEMPT_EXISTS' };
      expect(await shop.register.execute({ orderId: other, ...attempt('reg-1') })).toEqual(taken);
      expect(await shop.register.execute({ orderId: id, ...attempt('reg-1', { amount: 5 }) })).toEqual(taken);
    });

    it('opens an attempt that had not been handed over', async () => {
      const id = await placed();
      const created = await shop.register.execute({ orderId: id, ...attempt('hand', { handedOver: false }) });
      expect(created).toMatchObject({ outcome: 'registered', order: { attempts: [{ status: 'CREATED' }] } });
      const handed = await shop.register.execute({ orderId: id, ...attempt('hand') });
      expect(handed).toMatchObject({ outcome: 'replayed', order: { attempts: [{ status: 'OPEN' }] } });
    });

    it('rejects attempts after the deadline, even if the closing is behind, and wakes the timeout', async () => {
      const id = await placed({ paymentWindowMs: 0 });
      expect(await shop.register.execute({ orderId: id, ...attempt('late-reg') })).toEqual({
        outcome: 'rejected',
        code: 'ORDER_EXPIRED',
      });
      expect(shop.woken).toEqual([{ kind: 'order.payment', key: id }]);
      await settle(shop, [id]);
      expect(await shop.register.execute({ orderId: id, ...attempt('late-reg') })).toMatchObject({
        code: 'ORDER_NOT_PAYABLE',
      });
      expect(await shop.register.execute({ orderId: 'nobody', ...attempt('late-reg') })).toMatchObject({
        code: 'ORDER_NOT_FOUND',
      });
    });

    it('rejects one that is to be handed over only after the deadline, also with a time limit', async () => {
      const id = await placed({ paymentWindowMs: 0, attempt: attempt('kept-back', { handedOver: false }) });
      const timeExpire = new Date(Date.now() + 60_000);
      const handed = { orderId: id, ...attempt('kept-back', { timeExpire }) };
      expect(await shop.register.execute(handed)).toMatchObject({ outcome: 'rejected', code: 'ORDER_EXPIRED' });
      const limited = await shop.register.execute({ ...handed, handedOver: false });
      expect(limited).toMatchObject({ outcome: 'replayed', order: { attempts: [{ status: 'CREATED' }] } });
    });

    it('waits longer for a payment method that reports late', async () => {
      const id = await placed();
      await shop.register.execute({ orderId: id, provider: 'slow', reference: 'slow-1' });
      const view = await shop.readOrder.execute(id);
      const [payment] = await timeoutsOf(shop, id);
      expect((payment?.due_at.getTime() ?? 0) - (view?.expiresAt.getTime() ?? 0)).toBe(7_000);
    });
  });

  describe('marking paid', () => {
    it('books the payment, sells the stock, cancels the timeouts, and sends one event', async () => {
      const before = await stockOf(shop, 'apple');
      const id = await placed({ attempt: attempt('pay-1') });
      expect(await pay(id, 'pay-1', { transactionId: 'tx-1' })).toMatchObject({
        outcome: 'paid',
        order: { status: 'PAID' },
      });
      expect(await pay(id, 'pay-1', { transactionId: 'tx-1' })).toMatchObject({ outcome: 'already-paid' });
      expect(await stockOf(shop, 'apple')).toEqual({ onHand: before.onHand - 1, reserved: before.reserved });
      expect(await kinds(id)).toEqual([]);
      expect(await eventNames(id)).toEqual(['order.paid']);
      expect((await shop.history.execute(id))[1]).toMatchObject({ to: 'PAID', evidence: { transactionId: 'tx-1' } });
    });

    it('books a payment of an attempt that was never registered', async () => {
      const id = await placed();
      expect(await pay(id, 'walk-in')).toMatchObject({ outcome: 'paid', order: { attempts: [{ status: 'PAID' }] } });
    });

    it('succeeds after the deadline as long as the order is not closed', async () => {
      const id = await placed({ paymentWindowMs: 0 });
      expect(await pay(id, 'last-second')).toMatchObject({ outcome: 'paid' });
      expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
    });

    it('closes the other open attempts immediately, so that the buyer cannot pay twice', async () => {
      const id = await placed({ attempt: attempt('other-open') });
      expect(await pay(id, 'this-one')).toMatchObject({ outcome: 'paid' });
      const [closing, ...rest] = await timeoutsOf(shop, id);
      expect([closing?.kind, rest]).toEqual(['order.payment', []]);
      const { createdAt, expiresAt } = (await shop.readOrder.execute(id)) ?? {};
      expect(closing?.due_at.getTime()).toBeLessThan(((createdAt?.getTime() ?? 0) + (expiresAt?.getTime() ?? 0)) / 2);
      expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
      const view = await shop.readOrder.execute(id);
      expect(view).toMatchObject({ status: 'PAID', attempts: [{ status: 'CLOSED' }, { status: 'PAID' }] });
    });

    it('finds the second payment on an attempt that was still open', async () => {
      const id = await placed({ attempt: attempt('second-too') });
      await pay(id, 'first-one');
      shop.provider.paid('second-too');
      expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
      expect(await unmatchedOf(shop, id)).toMatchObject([{ reason: 'surplus', reference: 'first-one' }]);
    });

    it('keeps money that arrives after closing, reports it once, and leaves the order closed', async () => {
      const id = await placed({ paymentWindowMs: 0 });
      await settle(shop, [id]);
      for (let report = 0; report < 3; report++) expect(await pay(id, 'too-late')).toMatchObject({ outcome: 'late' });
      expect(await unmatchedOf(shop, id)).toEqual([{ reason: 'late', amount: '1999', reference: 'too-late' }]);
      expect(await eventNames(id)).toEqual(['order.closed', 'order.payment_late']);
      expect(await shop.readOrder.execute(id)).toMatchObject({ status: 'CLOSED', attempts: [{ status: 'PAID' }] });
    });

    it('keeps money of unknown orders, and of attempts that belong to other orders', async () => {
      expect(await pay('who', 'lost')).toEqual({ outcome: 'unknown-order' });
      expect(await unmatchedOf(shop, 'who')).toMatchObject([{ reason: 'unknown-order' }]);
      const [id, owner] = [await placed(), await placed({ attempt: attempt('owned') })];
      expect(await pay(id, 'owned')).toMatchObject({ outcome: 'attempt-mismatch', order: { status: 'PENDING' } });
      expect((await shop.readOrder.execute(owner))?.attempts).toMatchObject([{ status: 'OPEN' }]);
      expect(await unmatchedOf(shop, id)).toMatchObject([{ reason: 'attempt-mismatch' }]);
    });

    it('offers the payment of another order to nobody, also if the order that it was reported for is unknown', async () => {
      await placed({ attempt: attempt('spoken-for') });
      expect(await pay('who-else', 'spoken-for')).toEqual({ outcome: 'unknown-order' });
      expect(await unmatchedOf(shop, 'who-else')).toMatchObject([{ reason: 'attempt-mismatch' }]);
    });

    it('lists money of an unknown order with the order that has it by now, claims it, or has registered its reference', async () => {
      const listed = async (reference: string) =>
        (await shop.unmatched.list()).find((one) => one.reference === reference)?.orderId;
      expect(await pay('mistyped', 'soon-known')).toEqual({ outcome: 'unknown-order' });
      expect(await listed('soon-known')).toBe('mistyped');
      const owner = await placed({ attempt: attempt('soon-known') });
      expect(await listed('soon-known')).toBe(owner);
      expect(await pay(owner, 'soon-known')).toMatchObject({ outcome: 'paid' });
      expect(await listed('soon-known')).toBe(owner);
    });

    it('does not count too little, or another currency, as paid, and accepts the rest when it arrives', async () => {
      const id = await placed();
      expect(await pay(id, 'part-1', { amount: 999 })).toMatchObject({ outcome: 'amount-mismatch' });
      const foreign = await placed();
      expect(await pay(foreign, 'usd', { currency: 'USD' })).toMatchObject({ outcome: 'currency-mismatch' });
      expect(await pay(id, 'part-2', { amount: 1_000 })).toMatchObject({ outcome: 'paid' });
    });
  });

  describe('looking up payments before the deadline', () => {
    it('books what the provider says, and closes nothing', async () => {
      const id = await placed({ attempt: attempt('check-1') });
      expect(await shop.check.execute(id)).toMatchObject({ outcome: 'checked', order: { status: 'PENDING' } });
      expect(shop.provider.calls).not.toContain('close check-1');
      shop.provider.paid('check-1');
      expect(await shop.check.execute(id)).toMatchObject({ order: { status: 'PAID' } });
      expect(await shop.check.execute('nobody')).toEqual({ outcome: 'rejected', code: 'ORDER_NOT_FOUND' });
    });

    it('returns "expired" immediately and wakes the timeout if the closing is behind', async () => {
      const id = await placed({ paymentWindowMs: 0 });
      expect(await shop.check.execute(id)).toMatchObject({
        order: { status: 'PENDING', expired: true, payable: false },
      });
      expect(shop.woken).toEqual([{ kind: 'order.payment', key: id }]);
    });
  });

  describe('moving the deadline', () => {
    it('moves the timeouts, too, earlier and later, and writes history', async () => {
      const id = await placed();
      const { expiresAt = new Date(0) } = (await shop.readOrder.execute(id)) ?? {};
      const later = new Date(expiresAt.getTime() + 5 * MINUTE);
      expect(await shop.extend.execute({ orderId: id, byMs: 5 * MINUTE })).toMatchObject({
        order: { expiresAt: later },
      });
      expect((await timeoutsOf(shop, id)).map((timeout) => timeout.due_at)).toEqual([later, expiresAt]);
      const earlier = new Date(expiresAt.getTime() - 8 * MINUTE);
      await shop.extend.execute({ orderId: id, expiresAt: earlier, reason: 'flash sale' });
      expect(await timeoutsOf(shop, id)).toMatchObject([{ kind: 'order.payment', due_at: earlier }]);
      expect(await shop.history.execute(id)).toMatchObject([
        {},
        { version: 2, from: 'PENDING', to: 'PENDING', evidence: { to: later.toISOString() } },
        { version: 3, reason: 'flash sale' },
      ]);
    });

    it('extends an overdue order that is not closed yet, but not a closed one', async () => {
      const id = await placed({ paymentWindowMs: 0 });
      expect(await shop.extend.execute({ orderId: id, byMs: MINUTE })).toMatchObject({ order: { payable: true } });
      expect(await settle(shop, [id])).toMatchObject([{ type: 'reschedule' }]);
      const closed = await placed({ paymentWindowMs: 0 });
      await settle(shop, [closed]);
      expect(await shop.extend.execute({ orderId: closed, byMs: MINUTE })).toMatchObject({ code: 'ORDER_NOT_PENDING' });
    });

    it("rejects a window above the merchant's maximum", async () => {
      const id = await placed();
      expect(await shop.extend.execute({ orderId: id, byMs: 60 * MINUTE })).toMatchObject({
        code: 'DEADLINE_OUT_OF_RANGE',
      });
    });
  });

  describe('canceling', () => {
    it('cancels immediately if no attempt could take money', async () => {
      const before = await stockOf(shop, 'apple');
      const id = await placed();
      expect(await shop.cancel.execute({ orderId: id, reason: 'changed my mind' })).toMatchObject({
        outcome: 'cancelled',
      });
      expect(await shop.cancel.execute({ orderId: id })).toMatchObject({ outcome: 'already-cancelled' });
      expect(await stockOf(shop, 'apple')).toEqual(before);
      expect(await eventNames(id)).toEqual(['order.cancelled']);
      expect(await kinds(id)).toEqual([]);
    });

    it('closes the attempts first, and ends CANCELLED', async () => {
      const id = await placed({ attempt: attempt('cancel-1') });
      expect(await shop.cancel.execute({ orderId: id })).toMatchObject({
        outcome: 'cancelling',
        order: { status: 'CLOSING' },
      });
      expect(shop.woken).toEqual([{ kind: 'order.payment', key: id }]);
      expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
      expect(await shop.readOrder.execute(id)).toMatchObject({ status: 'CANCELLED' });
      expect(await eventNames(id)).toEqual(['order.closing', 'order.cancelled']);
    });

    it('ends PAID if the buyer paid first', async () => {
      const id = await placed({ attempt: attempt('quicker') });
      await shop.cancel.execute({ orderId: id });
      shop.provider.paid('quicker');
      await settle(shop, [id]);
      expect(await shop.readOrder.execute(id)).toMatchObject({ status: 'PAID' });
      expect(await shop.cancel.execute({ orderId: id })).toMatchObject({
        code: 'ORDER_NOT_CANCELLABLE',
        status: 'PAID',
      });
    });
  });

  describe('opting out of auto-close', () => {
    it('keeps the order payable after its deadline until auto-close is turned on again', async () => {
      const id = await placed();
      await shop.setAutoClose.execute({ orderId: id, enabled: false });
      expect(await kinds(id)).toEqual(['order.reminder']);
      await shop.dataSource.query(`UPDATE ${SCHEMA}.orders SET expires_at = now() - interval '1 s' WHERE id = $1`, [
        id,
      ]);
      expect(await shop.readOrder.execute(id)).toMatchObject({ expired: true, payable: true });
      await shop.setAutoClose.execute({ orderId: id, enabled: true });
      expect(await kinds(id)).toContain('order.payment');
      expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
      expect(await shop.setAutoClose.execute({ orderId: id, enabled: true })).toMatchObject({
        code: 'ORDER_NOT_PENDING',
      });
    });
  });

  describe('reminding', () => {
    const remind = (id: string) => {
      const due = dueOf(`${id}:300000`, { kind: 'order.reminder' });
      return shop.dataSource.transaction((tx) => shop.reminding.handleBatch([due], tx));
    };

    it('sends one reminder for an order that waits', async () => {
      const id = await placed({ paymentWindowMs: 4 * MINUTE });
      expect(await remind(id)).toEqual([{ type: 'done' }]);
      expect(await eventsOf(shop, id)).toMatchObject([{ routing_key: 'order.expiring', body: { offsetMs: 300_000 } }]);
    });

    it('waits for the new time if the deadline was extended', async () => {
      const id = await placed();
      expect(await remind(id)).toMatchObject([{ type: 'reschedule' }]);
      expect(await eventNames(id)).toEqual([]);
    });

    it('sends nothing for an order that is paid, overdue, or deleted', async () => {
      const [paid, overdue] = [await placed({ paymentWindowMs: MINUTE }), await placed({ paymentWindowMs: 0 })];
      await pay(paid, 'remind-paid');
      for (const id of [paid, overdue, 'gone']) expect(await remind(id)).toEqual([{ type: 'done' }]);
      expect(await eventNames(paid)).toEqual(['order.paid']);
    });
  });
});
