import { HandleNotification } from '../../../src/orders/pay/handle-notification';
import { type Notification, type PaymentProvider } from '../../../src/payments';
import { RegisterAttempt } from '../../../src/orders/pay/register-attempt';
import { type NewAttempt } from '../../../src/orders/model/new-order';
import { fill, newOrder, openShop, SCHEMA, type Shop } from './shop';

const HOUR = 3_600_000;

describe('several merchants of one provider with equal references', () => {
  let shop: Shop;
  let told: Notification;
  let take: () => Promise<string | undefined>;
  let register: RegisterAttempt;

  beforeAll(async () => {
    shop = await openShop({ reminderOffsetsMs: [], unknownProviders: 'refuse' });
    await fill(shop, { apple: 1_000 });
    const provider: PaymentProvider = {
      name: 'many',
      defaultAccount: null,
      hasAccount: (account) => account === 'a' || account === 'b',
      query: async () => ({ type: 'OPEN' }),
      close: async () => ({ type: 'CLOSED' }),
      refund: async () => ({ type: 'PENDING' }),
      notifications: { read: async () => told, reply: (verdict) => ({ status: 200, body: verdict }) },
    };
    const services = await shop.servicesWith(provider);
    const useCase = services.get(HandleNotification);
    take = async () => (await useCase.execute('many', { headers: {}, rawBody: Buffer.alloc(0) }))?.body;
    register = services.get(RegisterAttempt);
  });
  afterAll(() => shop.database.drop());

  const placed = async () => {
    const order = newOrder({ paymentWindowMs: HOUR });
    await shop.place.execute([order]);
    return order.id;
  };
  const pay = (merchantAccount: string, reference: string) => {
    const money = {
      amount: 1_999n,
      currency: 'EUR',
      paidAt: new Date(),
      transactionId: `${merchantAccount}-${reference}`,
    };
    told = { type: 'PAID', reference, merchantAccount, ...money, evidence: {} };
    return take();
  };
  const attempt = (merchantAccount: string | undefined, reference: string): NewAttempt => ({
    provider: 'many',
    reference,
    merchantAccount,
  });
  const keptOf = async (reference: string) =>
    (
      await shop.dataSource.query<{ text: string }[]>(
        `SELECT merchant_account || ' ' || handling AS text FROM ${SCHEMA}.unmatched_payment WHERE reference = $1 ORDER BY 1`,
        [reference],
      )
    ).map(({ text }) => text);
  const attemptsOf = async (id: string) =>
    (await shop.readOrder.execute(id))?.attempts.map((one) => `${one.merchantAccount} ${one.status}`);

  it('have their unknown payments kept and reported separately', async () => {
    expect([await pay('a', 'no-1'), await pay('b', 'no-1')]).toEqual(['accepted', 'accepted']);
    expect(await keptOf('no-1')).toEqual(['a kept', 'b kept']);
    const events = await shop.dataSource.query<{ account: string }[]>(
      `SELECT body->>'merchantAccount' AS account FROM ${SCHEMA}.outbox
        WHERE routing_key = 'order.payment_late' AND body->>'reference' = 'no-1' ORDER BY 1`,
    );
    expect(events.map(({ account }) => account)).toEqual(['a', 'b']);
  });

  it('may each register an attempt with the same number, and each is paid by its own money', async () => {
    const [ofA, ofB] = [await placed(), await placed()];
    expect(await register.execute({ orderId: ofA, ...attempt('a', 'no-2') })).toMatchObject({ outcome: 'registered' });
    expect(await register.execute({ orderId: ofB, ...attempt('b', 'no-2') })).toMatchObject({ outcome: 'registered' });
    await pay('b', 'no-2');
    expect([await attemptsOf(ofA), await attemptsOf(ofB)]).toEqual([['a OPEN'], ['b PAID']]);
    expect((await shop.readOrder.execute(ofB))?.status).toBe('PAID');
  });

  it('adopt earlier money only by an attempt of the same merchant', async () => {
    await pay('a', 'no-3');
    const [ofB, ofA] = [await placed(), await placed()];
    await register.execute({ orderId: ofB, ...attempt('b', 'no-3') });
    await register.execute({ orderId: ofA, ...attempt('a', 'no-3') });
    for (const id of [ofB, ofA]) await shop.extend.execute({ orderId: id, byMs: 1 });
    expect([await attemptsOf(ofB), await attemptsOf(ofA)]).toEqual([['b OPEN'], ['a PAID']]);
    expect(await keptOf('no-3')).toEqual(['a adopted']);
  });

  it('must be named if there is no default, and must be configured', async () => {
    const id = await placed();
    expect(await register.execute({ orderId: id, ...attempt(undefined, 'no-4') })).toMatchObject({
      code: 'MERCHANT_ACCOUNT_NOT_CONFIGURED',
      merchantAccount: null,
    });
    expect(await register.execute({ orderId: id, ...attempt('c', 'no-4') })).toMatchObject({
      code: 'MERCHANT_ACCOUNT_NOT_CONFIGURED',
    });
    expect(await register.execute({ orderId: id, ...attempt('a', 'no-4'), provider: 'nobody' })).toEqual({
      outcome: 'rejected',
      code: 'PROVIDER_NOT_CONFIGURED',
      provider: 'nobody',
      configured: ['many'],
    });
    expect(await attemptsOf(id)).toEqual([]);
  });

  it('are not placed with an attempt that cannot be looked up', async () => {
    const order = newOrder({ paymentWindowMs: HOUR, attempt: { provider: 'nobody', reference: 'no-5' } });
    expect(await shop.place.execute([order])).toMatchObject([{ outcome: 'rejected', code: 'PROVIDER_NOT_CONFIGURED' }]);
    expect(await shop.readOrder.execute(order.id)).toBeUndefined();
  });
});
