import { newOrder, SCHEMA, type Shop } from './shop';

const HOUR = 3_600_000;

/** The steps of specs about payments. @param shop the shop of the spec; called once `beforeAll` has opened it */
export function paymentSteps(shop: () => Shop) {
  const attempt = (reference: string) => ({ provider: 'fake', reference });
  return {
    attempt,
    placed: async (overrides: Parameters<typeof newOrder>[0] = {}): Promise<string> => {
      const order = newOrder({ paymentWindowMs: HOUR, ...overrides });
      expect(await shop().place.execute([order])).toMatchObject([{ outcome: 'placed' }]);
      return order.id;
    },
    report: (orderId: string, reference: string, amount = 1_999, transactionId?: string) =>
      shop().markPaid.execute({ orderId, ...attempt(reference), amount, currency: 'EUR', transactionId }),
    confirm: (orderId: string, reference: string, amount = 1_999, transactionId = `t-${reference}`) =>
      shop().markPaid.confirm(
        { orderId, ...attempt(reference), amount, currency: 'EUR', transactionId },
        { cause: 'notify' },
        { account: null },
      ),
    expire: (id: string): Promise<unknown> =>
      shop().dataSource.query(`UPDATE ${SCHEMA}.orders SET expires_at = now() - interval '1 second' WHERE id = $1`, [
        id,
      ]),
    statusOf: async (id: string) => (await shop().readOrder.execute(id))?.status,
  };
}
