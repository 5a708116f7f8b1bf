import { SystemClock } from '../../../src/clock';
import { PaymentLookups } from '../../../src/orders/lookup/payment-lookups';
import { ResilientProvider, PaymentProviders } from '../../../src/payments';
import { fill, newOrder, openShop, SCHEMA, type Shop } from './shop';

const HOUR = 3_600_000;

describe('an order with many payment attempts', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop({ reminderOffsetsMs: [], maxAttempts: 3, merchants: { patient: { maxAttempts: 1_000 } } });
    await fill(shop, { apple: 100 });
  });
  afterAll(() => shop.database.drop());

  const placed = async (merchantId = 'default') => {
    const order = newOrder({ paymentWindowMs: HOUR, merchantId });
    await shop.place.execute([order]);
    return order.id;
  };

  it('accepts as many as its policy allows, and the same ones again', async () => {
    const id = await placed();
    const register = (reference: string) => shop.register.execute({ orderId: id, provider: 'fake', reference });
    for (const name of ['x', 'y', 'z'])
      expect(await register(`${id}-${name}`)).toMatchObject({ outcome: 'registered' });
    expect(await register(`${id}-w`)).toEqual({ outcome: 'rejected', code: 'TOO_MANY_ATTEMPTS', limit: 3 });
    expect(await register(`${id}-x`)).toMatchObject({ outcome: 'replayed' });
  });

  it('has some of 120 closed in every round, although its provider answers only some calls', async () => {
    const id = await placed('patient');
    await shop.dataSource.query(
      `INSERT INTO ${SCHEMA}.payment_attempt (provider, reference, order_id, status, amount, currency, created_at)
       SELECT 'fake', $1 || '-' || n, $1, CASE WHEN n <= 20 THEN 'CLOSED' ELSE 'OPEN' END, 1999, 'EUR',
              now() - interval '1 hour' FROM generate_series(1, 120) n`,
      [id],
    );
    // 50 calls per round without waiting, which is fewer than the number of attempts.
    const limits = { ratePerSecond: 0.1, burst: 50, maxWaitMs: 0 };
    const resilient = new ResilientProvider(shop.provider, new SystemClock(), limits);
    const ask = new PaymentLookups(new PaymentProviders([resilient]));
    const { now, attempts } = await shop.store.attemptsOf(id, () => true);
    shop.provider.calls.length = 0;
    const findings = await ask.close(attempts, now, new AbortController().signal);
    // Two calls each, and up to four in progress at the last call.
    const closed = findings.filter(({ finding }) => finding.type === 'CLOSED');
    expect(closed.length).toBeGreaterThanOrEqual(22);
    expect(shop.provider.calls).toHaveLength(50);
  });

  it('has its open attempts looked up before the closed ones', async () => {
    const id = await placed('patient');
    await shop.dataSource.query(
      `INSERT INTO ${SCHEMA}.payment_attempt (provider, reference, order_id, status, amount, currency)
       VALUES ('fake', $1 || '-old', $1, 'CLOSED', 1999, 'EUR'), ('fake', $1 || '-new', $1, 'OPEN', 1999, 'EUR')`,
      [id],
    );
    const { now, attempts } = await shop.store.attemptsOf(id, () => true);
    const findings = await new PaymentLookups(new PaymentProviders([shop.provider])).close(
      attempts,
      now,
      new AbortController().signal,
    );
    expect(findings.map(({ reference }) => reference)).toEqual([`${id}-new`, `${id}-old`]);
  });
});
