import { randomUUID } from 'node:crypto';
import { type ActionContext, type NewOrder } from '../../../src';
import { PAYMENT_REFUND } from '../../../src/orders/model/order-timeouts';
import { type DueTimeout, type TimeoutOutcome } from '../../../src/timeouts';
import { dueOf, fill, newOrder, openShop, runOnce, SCHEMA, settleUntilDone, type Shop } from './shop';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The actor in these tests. The interface must not matter. */
export const ANNA: ActionContext = { cause: 'api', actor: 'anna' };

export type OperatorDesk = Awaited<ReturnType<typeof openDesk>>;

/**
 * A shop with everything that tests of an operator's actions need. Merchants: `keeper` keeps late payments, `parker` parks
 * partial payments, `refunder` refunds what is too much.
 */
export async function openDesk() {
  const shop = await openShop({
    reminderOffsetsMs: [],
    merchants: {
      keeper: { latePayment: 'keep', surplusPayment: 'keep' },
      parker: { partialPayment: 'park' },
      refunder: { overpayment: 'refund-excess' },
    },
  });
  await fill(shop, { apple: 1_000, rare: 1 });
  const placed = async (overrides: Partial<NewOrder> = {}): Promise<string> => {
    const order = newOrder({ paymentWindowMs: HOUR, ...overrides });
    expect(await shop.place.execute([order])).toMatchObject([{ outcome: 'placed' }]);
    return order.id;
  };
  const expire = (id: string) =>
    shop.dataSource.query(`UPDATE ${SCHEMA}.orders SET expires_at = now() - interval '1 second' WHERE id = $1`, [id]);
  const money = (orderId: string, reference: string, amount = 1_999) => {
    return { orderId, provider: 'fake', reference, amount, currency: 'EUR', transactionId: `t-${reference}` };
  };
  /** The last row about this payment, first of those that wait for a person. */
  const idOf = async (reference: string, reason?: string): Promise<string> => {
    const [row] = await shop.dataSource.query<{ id: string }[]>(
      `SELECT id FROM ${SCHEMA}.unmatched_payment
        WHERE reference = $1 AND reason = COALESCE($2, reason) ORDER BY handling = 'kept' DESC, id DESC LIMIT 1`,
      [reference, reason],
    );
    return row?.id ?? '';
  };
  return {
    shop,
    placed,
    idOf,
    /** What became of the payment, or why the row was not assigned. */
    assign: async (reference: string, orderId: string, reason?: string): Promise<string> => {
      const request = { id: await idOf(reference, reason), orderId, reason: 'the receipt names it' };
      const result = await shop.assign.execute(request, { by: ANNA });
      if (result.outcome === 'assigned') return result.booked;
      return result.outcome === 'rejected' ? result.code : result.outcome;
    },
    settle: async (reference: string, reason?: string): Promise<string> => {
      const request = { id: await idOf(reference, reason), reason: 'paid back by wire' };
      return (await shop.settleUnmatched.execute(request, { by: ANNA })).outcome;
    },
    reopen: async (reference: string, reason: string): Promise<string> => {
      const request = { id: await idOf(reference, reason), reason: 'the wire came back' };
      const result = await shop.unmatched.reopen(request, { by: ANNA });
      return result.outcome === 'reopened' ? result.payment.handling : result.outcome;
    },
    expire,
    closed: async (overrides: Partial<NewOrder> = {}) => {
      const id = await placed(overrides);
      await expire(id);
      expect(await settleUntilDone(shop, [id])).toEqual([{ type: 'done' }]);
      return id;
    },
    report: (orderId: string, reference: string, amount?: number) =>
      shop.markPaid.execute(money(orderId, reference, amount)),
    confirm: (orderId: string, reference: string, amount?: number) =>
      shop.markPaid.confirm(money(orderId, reference, amount), { cause: 'notify' }, { account: null }),
    attempt: (reference: string) => ({ provider: 'fake', reference }),
    statusOf: async (id: string) => (await shop.readOrder.execute(id))?.status,
    attemptsOf: async (id: string) =>
      (await shop.readOrder.execute(id))?.attempts.map(({ reference, status }) => `${reference} ${status}`),
    lastOf: async (id: string) => (await shop.history.execute(id)).at(-1),
    /** Open rows of unmatched money by the reference of their payment. */
    openOf: async (reference: string) =>
      (await shop.unmatched.list({ limit: 1_000 })).filter((row) => row.reference === reference),
    rowsOf: async (reference: string) =>
      (
        await shop.dataSource.query<{ text: string }[]>(
          `SELECT reason || ' ' || handling AS text FROM ${SCHEMA}.unmatched_payment WHERE reference = $1 ORDER BY id`,
          [reference],
        )
      ).map(({ text }) => text),
    /** Money of an unknown order, as a provider notifies it. */
    unmatched: async (reference: string, amount = 1_999, currency = 'EUR') => {
      const id = randomUUID();
      await shop.dataSource.query(
        `INSERT INTO ${SCHEMA}.unmatched_payment (id, provider, reference, amount, currency, source, evidence, reason, handling)
         VALUES ($1, 'fake', $2, $3, $4, 'provider', $5, 'unknown-order', 'kept')`,
        [id, reference, amount, currency, { transactionId: `t-${reference}` }],
      );
      return id;
    },
    runRefundOf: (orderId: string, ageMs?: number) => runRefundOf(shop, orderId, ageMs),
    /** What is left of the timeouts of an order that the engine has ended or parked: none that is due. */
    endTimeoutsOf: (id: string) => shop.dataSource.query(`DELETE FROM ${SCHEMA}.timeout WHERE key = $1`, [id]),
    kindsOf: async (id: string) =>
      (
        await shop.dataSource.query<{ kind: string }[]>(
          `SELECT kind FROM ${SCHEMA}.timeout WHERE key = $1 ORDER BY kind`,
          [id],
        )
      ).map(({ kind }) => kind),
  };
}

/** Runs the refund of this order if its timeout is scheduled, as the engine does. */
async function runRefundOf(shop: Shop, orderId: string, ageMs = 2 * MINUTE): Promise<TimeoutOutcome | 'not scheduled'> {
  const [row] = await shop.dataSource.query<{ key: string; payload: DueTimeout['payload'] }[]>(
    `SELECT t.key, t.payload FROM ${SCHEMA}.timeout t JOIN ${SCHEMA}.refund r ON r.number = t.key
      WHERE t.kind = $1 AND r.order_id = $2`,
    [PAYMENT_REFUND, orderId],
  );
  if (!row) return 'not scheduled';
  const ref = { kind: PAYMENT_REFUND, key: row.key };
  const dueAt = new Date(Date.now() - ageMs);
  const outcome = await runOnce(shop, shop.refunding, dueOf(row.key, { ...ref, payload: row.payload, dueAt }));
  if (outcome.type === 'done')
    await shop.dataSource.query(`DELETE FROM ${SCHEMA}.timeout WHERE kind = $1 AND key = $2`, [ref.kind, ref.key]);
  return outcome;
}
