import { PAYMENT_REFUND } from '../../../src/orders';
import { refundNumber } from '../../../src/orders/model/unmatched-money';
import { ORDER_PAYMENT } from '../../../src/orders/model/order-timeouts';
import { type DueTimeout } from '../../../src/timeouts';
import { ANNA, openDesk, type OperatorDesk } from './operator-desk';
import { dueOf, eventsOf, SCHEMA, settle, settleUntilDone, stockOf, timeoutsOf } from './shop';

describe('canceling an order that is paid in part', () => {
  let desk: OperatorDesk;
  beforeAll(async () => {
    desk = await openDesk();
  });
  afterAll(() => desk.shop.database.drop());

  const cancel = (orderId: string) => desk.shop.cancel.execute({ orderId });
  const close = (orderId: string) => desk.shop.close.execute({ orderId, reason: 'gone' }, { by: ANNA });
  const finish = async (reference: string) => {
    const due = dueOf(refundNumber(desk.attempt(reference)), { kind: PAYMENT_REFUND }) as DueTimeout<never>;
    const answer = (await desk.shop.refunding.lookUp(due, new AbortController().signal)) as never;
    await desk.shop.dataSource.transaction((tx) => desk.shop.refunding.handleBatch([{ ...due, answer }], tx));
  };

  describe.each([
    ['refunds at its deadline', 'default'],
    ['parks at its deadline', 'parker'],
  ])('with a policy that %s', (_name, merchantId) => {
    const name = (reference: string): string => `${reference}-of-${merchantId}`;
    const endsRefunded = async (orderId: string, reference: string) => {
      expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
      expect(await desk.statusOf(orderId)).toBe('REFUNDING');
      await finish(reference);
      expect(await desk.statusOf(orderId)).toBe('CLOSED_REFUNDED');
      const types = (await eventsOf(desk.shop, orderId)).map(({ routing_key: type }) => type);
      expect(types).toEqual(expect.arrayContaining(['order.cancelled', 'order.refunding', 'order.refunded']));
    };

    it('refunds the part, and cancels the order', async () => {
      const before = await stockOf(desk.shop, 'apple');
      const orderId = await desk.placed({ merchantId, attempt: desk.attempt(name('half')) });
      await desk.confirm(orderId, name('half'), 1_000);
      expect(await cancel(orderId)).toMatchObject({ outcome: 'cancelling' });
      await endsRefunded(orderId, name('half'));
      expect(await cancel(orderId)).toMatchObject({ outcome: 'already-cancelled' });
      expect(await stockOf(desk.shop, 'apple')).toEqual(before);
      expect(await desk.rowsOf(name('half'))).toEqual(['amount-mismatch refunding']);
    });

    it('leaves a part that comes meanwhile to the cancellation, and not to a person', async () => {
      const [unpaid, part] = [name('slow'), name('part')];
      const orderId = await desk.placed({ merchantId, attempt: desk.attempt(unpaid) });
      await desk.shop.register.execute({ orderId, ...desk.attempt(part) });
      desk.shop.provider.answerQuery(unpaid, { type: 'PROCESSING' });
      expect(await cancel(orderId)).toMatchObject({ outcome: 'cancelling' });
      await desk.confirm(orderId, part, 1_000);
      expect(await desk.rowsOf(part)).toEqual(['amount-mismatch waiting']);
    });

    it('refunds a part that only the look-ups of the cancellation find', async () => {
      const orderId = await desk.placed({ merchantId, attempt: desk.attempt(name('unseen')) });
      desk.shop.provider.paid(name('unseen'), 1_000n);
      expect(await cancel(orderId)).toMatchObject({ outcome: 'cancelling' });
      await endsRefunded(orderId, name('unseen'));
    });
  });

  it('restarts a closing that was parked because of the part', async () => {
    const orderId = await desk.placed({ merchantId: 'parker', attempt: desk.attempt('parked') });
    await desk.shop.register.execute({ orderId, ...desk.attempt('unpaid') });
    desk.shop.provider.answerQuery('unpaid', { type: 'UNKNOWN', reason: 'down' });
    await desk.expire(orderId);
    await settle(desk.shop, [orderId]);
    await desk.confirm(orderId, 'parked', 1_000);
    desk.shop.provider.answerQuery('unpaid', { type: 'CLOSED' });
    expect(await settle(desk.shop, [orderId])).toMatchObject([{ type: 'park' }]);
    await desk.shop.dataSource.query(`UPDATE ${SCHEMA}.timeout SET state = 'parked' WHERE key = $1`, [orderId]);
    expect(await cancel(orderId)).toMatchObject({ outcome: 'cancelling', order: { status: 'CLOSING' } });
    expect(await desk.shop.scheduler.find({ kind: ORDER_PAYMENT, key: orderId })).toMatchObject({ state: 'pending' });
    expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
    await finish('parked');
    expect(await desk.statusOf(orderId)).toBe('CLOSED_REFUNDED');
  });

  describe('is refused, like a close, and changes nothing,', () => {
    const refused = async (orderId: string, reference: string) => {
      const state = async () => [await desk.shop.readOrder.execute(orderId), await timeoutsOf(desk.shop, orderId)];
      const before = await state();
      const refusal = { outcome: 'rejected', code: 'ORDER_HAS_MONEY', payments: [desk.attempt(reference)] };
      expect(await cancel(orderId)).toEqual(refusal);
      expect(await close(orderId)).toEqual(refusal);
      expect(await state()).toEqual(before);
    };

    it('while only a report vouches for the part', async () => {
      const orderId = await desk.placed({ attempt: desk.attempt('claimed') });
      await desk.report(orderId, 'claimed', 1_000);
      await refused(orderId, 'claimed');
      // The provider's word is what was missing.
      await desk.confirm(orderId, 'claimed', 1_000);
      expect(await cancel(orderId)).toMatchObject({ outcome: 'cancelling' });
    });

    it('if no attempt was registered for the part', async () => {
      const orderId = await desk.placed();
      await desk.confirm(orderId, 'unregistered', 1_000);
      await refused(orderId, 'unregistered');
    });

    it('if another order counts on the part, too', async () => {
      const [orderId, other] = [
        await desk.placed({ attempt: desk.attempt('shared') }),
        await desk.placed({ attempt: desk.attempt('other') }),
      ];
      await desk.report(other, 't-shared', 1_000);
      await desk.confirm(orderId, 'shared', 1_000);
      await refused(orderId, 'shared');
    });

    it('while the order is in the course of becoming PAID', async () => {
      const { shop } = desk;
      const orderId = await desk.placed({ attempt: desk.attempt('whole') });
      await shop.dataSource.query(
        `UPDATE ${SCHEMA}.payment_attempt SET status = 'PAID', paid_amount = 1999, paid_currency = 'EUR', paid_at = now(),
                paid_source = 'provider' WHERE reference = 'whole'`,
      );
      expect(await cancel(orderId)).toMatchObject({ code: 'ORDER_HAS_MONEY' });
      expect(await settleUntilDone(shop, [orderId])).toEqual([{ type: 'done' }]);
      expect(await desk.statusOf(orderId)).toBe('PAID');
    });

    it('until an operator has refunded the part', async () => {
      const orderId = await desk.placed();
      await desk.confirm(orderId, 'returned', 1_000);
      await refused(orderId, 'returned');
      const refund = { orderId, ...desk.attempt('returned'), reason: 'called off' };
      expect(await desk.shop.refund.execute(refund, { by: ANNA })).toMatchObject({ outcome: 'refunding' });
      expect(await cancel(orderId)).toMatchObject({ outcome: 'cancelling' });
      expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
      expect(await desk.statusOf(orderId)).toBe('CANCELLED');
    });
  });
});
