import { PAYMENT_RECONCILIATION } from '../../../src/orders/model/order-timeouts';
import { eraseOrder, purgeOrder } from './forget-order';
import { type OperatorDesk, openDesk } from './operator-desk';
import { reconcile, SCHEMA, settleUntilDone } from './shop';

let desk: OperatorDesk;

const placed = (amount = 100): Promise<string> =>
  desk.placed({ amount, lines: [{ sku: 'apple', quantity: 1, unitAmount: amount }] });

/** A line of an account statement, as a script imports it: the text of the transfer, and the bank's id of the line. */
async function imports(orderId: string, reference: string, transactionId?: string, amount = 100): Promise<string> {
  const payment = { orderId, provider: 'bank', reference, amount, currency: 'EUR', transactionId };
  return (await desk.shop.markPaid.execute(payment)).outcome;
}

/** By the payments' references: reason, amount, and handling of each. */
async function rowsOf(...references: string[]): Promise<string[]> {
  const rows = await desk.shop.dataSource.query<{ text: string }[]>(
    `SELECT concat_ws(' ', reference, reason, amount, handling) AS text FROM ${SCHEMA}.unmatched_payment
      WHERE reference = ANY($1) ORDER BY id`,
    [references],
  );
  return rows.map(({ text }) => text);
}

/** Status, and the ids of the lines that the order holds. */
async function holds(id: string): Promise<string[]> {
  const rows = await desk.shop.dataSource.query<{ id: string }[]>(
    `SELECT transaction_id AS id FROM ${SCHEMA}.payment_attempt WHERE order_id = $1 AND status = 'PAID' ORDER BY 1`,
    [id],
  );
  return [(await desk.statusOf(id)) ?? '', ...rows.map((row) => row.id)];
}

/** Nobody can be asked, which must not be waited for. */
async function looksUp(order: string): Promise<void> {
  const isScheduled = await desk.shop.scheduler.find({ kind: PAYMENT_RECONCILIATION, key: order });
  if (isScheduled) expect(await reconcile(desk.shop, order)).toEqual({ type: 'done' });
}

/** No adapter knows them: what a script imports from the bank is all that is known. */
describe('bank transfers of a bank without an adapter', () => {
  beforeAll(async () => {
    desk = await openDesk();
  });

  afterAll(() => desk.shop.database.drop());

  describe('under one customer number', () => {
    it('are not taken from the order that has another one', async () => {
      const [may, june] = [await placed(), await placed()];
      expect([await imports(may, 'c-1', 'l-1'), await imports(june, 'c-1', 'l-2')]).toEqual([
        'paid',
        'attempt-mismatch',
      ]);
      expect(await desk.assign('c-1', june)).toBe('PAYMENT_TAKEN');
      expect(await holds(may)).toEqual(['PAID', 'l-1']);
      // The remedy of docs/unmatched-payments.md.
      expect([await imports(june, 'l-2'), await desk.settle('c-1')]).toEqual(['paid', 'settled']);
      expect(await holds(may)).toEqual(['PAID', 'l-1']);
    });

    it('are not taken if they have no ids and two amounts', async () => {
      const [may, june] = [await placed(), await placed(70)];
      expect([await imports(may, 'c-2'), await imports(june, 'c-2', undefined, 70)]).toEqual([
        'paid',
        'attempt-mismatch',
      ]);
      expect(await desk.assign('c-2', june)).toBe('PAYMENT_TAKEN');
      expect(await desk.statusOf(may)).toBe('PAID');
    });

    it('leave a half-paid order its half, so that it does not close', async () => {
      const [half, other] = [await placed(), await placed(50)];
      await imports(half, 'c-3', 'l-31', 50);
      await imports(other, 'c-3', 'l-32', 50);
      expect(await desk.assign('c-3', other)).toBe('PAYMENT_TAKEN');
      await desk.expire(half);
      await settleUntilDone(desk.shop, [half]);
      expect(await desk.statusOf(half)).not.toBe('CLOSED');
    });
  });

  it('is not asked about without end, though a line that came before its order waits for a person', async () => {
    expect(await imports('order-busy', 'c-4', 'l-41')).toBe('unknown-order');
    expect(await imports(await placed(), 'c-4', 'l-42')).toBe('paid');
    const lines = [{ sku: 'apple', quantity: 1, unitAmount: 100 }];
    const order = await desk.placed({ id: 'order-busy', amount: 100, lines, attempt: desk.attempt('busy') });
    await imports(order, 'l-43', 'l-43');
    await desk.confirm(order, 'busy', 100);
    expect(await rowsOf('c-4', 'l-43')).toEqual(['c-4 unknown-order 100 kept', 'l-43 surplus 100 kept']);
    const paid = { type: 'PAID', amount: 100n, currency: 'EUR', paidAt: new Date(), transactionId: 't-busy' } as const;
    desk.shop.provider.answerQuery('busy', { ...paid, evidence: {} });
    await settleUntilDone(desk.shop, [order]);
    await desk.endTimeoutsOf(order);
    expect(await reconcile(desk.shop, order)).toEqual({ type: 'done' });
    expect(await desk.kindsOf(order)).toEqual([]);
  });

  it.each([
    ['CANCELLED', 'late'],
    ['PAID', 'surplus'],
  ])('has a row once a person has assigned it to a %s order', async (status, reason) => {
    const [order, text] = [await placed(), `w-${status}`];
    if (status === 'PAID') await desk.confirm(order, `${text}-first`, 100);
    else await desk.shop.cancel.execute({ orderId: order });
    expect(await imports('mistyped', text)).toBe('unknown-order');
    expect(await desk.assign(text, order)).toBe(reason);
    await looksUp(order);
    expect(await rowsOf(text)).toContain(`${text} ${reason} 100 kept`);
    expect(await desk.settle(text)).toBe('settled');
    await looksUp(order);
    expect(await desk.kindsOf(order)).not.toContain('order.late-watch');
  });

  describe('with an id of its own under a text that was used before is shown to a person', () => {
    it.each([
      ['purged', purgeOrder],
      ['erased', eraseOrder],
    ])('though the first one went to an order that was %s', async (how, forget) => {
      const order = await placed();
      await imports(order, `s-${how}`, `s-${how}-1`);
      await forget(desk, order);
      await imports(order, `s-${how}`, `s-${how}-2`);
      await looksUp(order);
      expect((await rowsOf(`s-${how}`, `s-${how}-2`)).filter((row) => row.endsWith('kept'))).toHaveLength(1);
    });

    it('but not if it is the line of the first one, which was purged with its order', async () => {
      const order = await placed();
      await imports(order, 'u', 'u-1');
      await purgeOrder(desk, order);
      await imports(order, 'u', 'u-1');
      expect(await rowsOf('u', 'u-1')).toEqual([]);
    });

    it('though a person has settled the first one', async () => {
      await imports('nobody', 't', 't-1');
      expect(await desk.settle('t')).toBe('settled');
      await imports('nobody', 't', 't-2');
      expect(await rowsOf('t', 't-2')).toEqual(['t unknown-order 100 settled', 't-2 unknown-order 100 kept']);
    });

    it('though both came before their order', async () => {
      await imports('order-early', 'v', 'v-1');
      await imports('order-early', 'v', 'v-2');
      expect(await rowsOf('v', 'v-2')).toEqual(['v unknown-order 100 kept', 'v-2 unknown-order 100 kept']);
    });
  });
});
