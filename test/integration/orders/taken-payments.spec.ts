import { ORDER_LATE_WATCH } from '../../../src/orders/model/order-timeouts';
import { purgeOrder } from './forget-order';
import { ANNA, openDesk, type OperatorDesk } from './operator-desk';
import { tellPaid } from './post-notification';
import { dueOf, settle, settleUntilDone } from './shop';

describe('an order whose look-up finds the payment of another order', () => {
  let desk: OperatorDesk;
  beforeAll(async () => {
    desk = await openDesk();
  });
  afterAll(() => desk.shop.database.drop());

  /** The provider says so when it is looked up. */
  const answerPaid = (reference: string, transactionId: string, amount = 1_999n): void => {
    const money = { amount, currency: 'EUR', paidAt: new Date(), transactionId, evidence: {} };
    desk.shop.provider.answerQuery(reference, { type: 'PAID', ...money });
    desk.shop.provider.answerClose(reference, { type: 'PAID' });
  };
  /** A paid order, and one that is due, whose provider names the payment of the first one. */
  async function two(name: string): Promise<{ readonly paid: string; readonly orderId: string }> {
    const paid = await desk.placed({ attempt: desk.attempt(`${name}-paid`) });
    await tellPaid(desk, `${name}-paid`, `t-${name}`);
    const orderId = await desk.placed({ attempt: desk.attempt(name) });
    answerPaid(name, `t-${name}`);
    return { paid, orderId };
  }
  const isTaken = expect.stringContaining('another order has this payment') as string;
  /** Its look-up counts as failed, so the engine parks its timeout after some. */
  async function waits(orderId: string): Promise<void> {
    expect(await settle(desk.shop, [orderId])).toMatchObject([{ type: 'retry', counted: true, reason: isTaken }]);
    expect(await desk.statusOf(orderId)).toBe('CLOSING');
    await desk.endTimeoutsOf(orderId);
  }
  const settleRow = async (reference: string): Promise<string> => {
    const [row] = await desk.openOf(reference);
    const request = { id: row?.id ?? '', reason: 'it is that of the other order' };
    expect(await desk.shop.unmatched.settle(request, { by: ANNA })).toMatchObject({ outcome: 'settled' });
    return request.id;
  };

  it('waits for a person, and is closed once that person has settled the row', async () => {
    const { paid, orderId } = await two('k-1');
    await desk.expire(orderId);
    await waits(orderId);
    await settleRow('k-1');
    expect(await desk.kindsOf(orderId)).toEqual(['order.payment']);
    expect(await settleUntilDone(desk.shop, [orderId])).toEqual([{ type: 'done' }]);
    expect([await desk.statusOf(paid), await desk.statusOf(orderId)]).toEqual(['PAID', 'CLOSED']);
    expect(await desk.attemptsOf(orderId)).toEqual(['k-1 CLOSED']);
  });

  it('is watched after that like any other, which tells nobody anew', async () => {
    const { orderId } = await two('k-2');
    await desk.expire(orderId);
    await waits(orderId);
    await settleRow('k-2');
    await settleUntilDone(desk.shop, [orderId]);
    const due = dueOf(orderId, { kind: ORDER_LATE_WATCH, payload: { since: new Date().toISOString() } });
    const answer = await desk.shop.watching.lookUp(due, new AbortController().signal);
    await desk.shop.dataSource.transaction((tx) => desk.shop.watching.handleBatch([{ ...due, answer }], tx));
    expect([await desk.statusOf(orderId), await desk.openOf('k-2')]).toEqual(['CLOSED', []]);
  });

  it('is canceled once a person has settled the row, if a cancellation had begun', async () => {
    const { orderId } = await two('k-3');
    expect(await desk.shop.cancel.execute({ orderId })).toMatchObject({ outcome: 'cancelling' });
    await waits(orderId);
    await settleRow('k-3');
    await settleUntilDone(desk.shop, [orderId]);
    expect(await desk.statusOf(orderId)).toBe('CANCELLED');
  });

  it('is closed once a person has settled the row, although the other order was purged', async () => {
    const { paid, orderId } = await two('k-4');
    await purgeOrder(desk, paid);
    await desk.expire(orderId);
    await waits(orderId);
    await settleRow('k-4');
    await settleUntilDone(desk.shop, [orderId]);
    expect(await desk.statusOf(orderId)).toBe('CLOSED');
  });

  it.each([
    ['another amount', 'k-5', 't-k-5', 500n],
    ['another payment', 'k-6', 't-k-6-2', 1_999n],
  ])('waits for a person again if its provider then names %s', async (_what, name, transactionId, amount) => {
    const { orderId } = await two(name);
    await desk.expire(orderId);
    await waits(orderId);
    await settleRow(name);
    const other = await desk.placed({ attempt: desk.attempt(`${name}-other`) });
    await tellPaid(desk, `${name}-other`, `t-${name}-2`);
    expect(await desk.statusOf(other)).toBe('PAID');
    answerPaid(name, transactionId, amount);
    await waits(orderId);
  });

  it('waits for a person again if the settlement is taken back', async () => {
    const { orderId } = await two('k-7');
    await desk.expire(orderId);
    await waits(orderId);
    const id = await settleRow('k-7');
    await desk.shop.unmatched.reopen({ id, reason: 'not so sure' }, { by: ANNA });
    await waits(orderId);
  });
});
