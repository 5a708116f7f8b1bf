import fc from 'fast-check';
import { LIMITS, type NewOrder, type ReportedPayment } from '../../../src/orders';
import { checkNewOrders, checkReportedPayment } from '../../../src/orders/input/check-input';
import { newOrderSchema } from '../../../src/orders/input';
import { draftOrder, InsertOrders } from '../../../src/orders/place/insert-orders';
import { OrderPolicies } from '../../../src/orders/model/order-policies';
import { arbitraryOrder, toModuleOrder } from '../../support/arbitrary-order';
import { openShop, type Shop } from './shop';

const isAccepted = (check: () => void): boolean => {
  try {
    check();
    return true;
  } catch {
    return false;
  }
};

let counter = 0;
const newId = (): string => `limit-${++counter}`;

const order = (change: object): NewOrder => ({
  id: newId(),
  amount: 1,
  currency: 'EUR',
  lines: [],
  paymentWindowMs: 1_000,
  ...change,
});
const attempt = (change: object) => ({ attempt: { provider: 'p', reference: newId(), ...change } });
const line = (change: object) => ({ lines: [{ sku: 'a', quantity: 1, unitAmount: 1, ...change }] });
const text = (length: number): string => '😀'.repeat(length);

/** Columns with a CHECK: the values at the limit that the table accepts, and those that it rejects. */
const BORDERS: readonly [column: string, taken: unknown[], refused: unknown[], change: (value: never) => object][] = [
  ['orders.id', ['a', 'a'.repeat(64)], ['', 'a'.repeat(65), 'ä', 'a b'], (id: string) => ({ id })],
  ['orders.merchant_id', ['m', 'm'.repeat(64)], ['', 'm'.repeat(65)], (merchantId: string) => ({ merchantId })],
  ['orders.amount', [1, LIMITS.money], [0, 2n ** 53n], (amount: bigint) => ({ amount })],
  ['orders.currency', ['EUR'], ['eu', 'eur', 'EURO'], (currency: string) => ({ currency })],
  ['orders.grace_ms', [0, LIMITS.graceMs], [LIMITS.graceMs + 1], (graceMs: number) => ({ graceMs })],
  ['order_line.quantity', [1], [0], (quantity: number) => line({ quantity })],
  ['order_line.unit_amount', [0, LIMITS.money], [-1, 2n ** 53n], (unitAmount: bigint) => line({ unitAmount })],
  ['payment_attempt.provider', ['p'.repeat(64)], ['', 'p'.repeat(65)], (provider: string) => attempt({ provider })],
  ['payment_attempt.reference', [text(255)], ['', text(256)], (reference: string) => attempt({ reference })],
  ['payment_attempt.amount', [1, LIMITS.money], [0, 2n ** 53n], (amount: bigint) => attempt({ amount })],
  ['payment_attempt.currency', ['EUR'], ['eur', 'EURO'], (currency: string) => attempt({ currency })],
  ['idempotency_key.key', ['k'.repeat(255)], ['', 'k'.repeat(256)], (idempotencyKey: string) => ({ idempotencyKey })],
];

describe('the limits of the input', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop({ maxPaymentWindowMs: LIMITS.windowMs });
    await shop.inventory.setStock(shop.dataSource.manager, 'a', LIMITS.stock);
  });
  afterAll(() => shop.database.drop());

  /** Whether the tables accept it without the input check, by the statement that PlaceOrders uses. */
  async function isStorable(given: NewOrder): Promise<boolean> {
    const plan = { policies: new OrderPolicies(), providers: { get: () => undefined } };
    const draft = draftOrder(given, { cause: 'api' }, plan);
    const insert = shop.services.get(InsertOrders);
    return shop.dataSource
      .transaction((tx) => insert.execute(tx, insert.prepare([draft])))
      .then(
        (rows) => rows.length === 1,
        () => false,
      );
  }

  it.each(['.', '..'])('refuse the id %s of a new order and of its merchant, because no URL can name it', (id) => {
    for (const named of [order({ id }), order({ merchantId: id })]) {
      expect(isAccepted(() => checkNewOrders([named]))).toBe(false);
      expect(newOrderSchema.safeParse({ ...named, paymentWindowMs: 1_000 }).success).toBe(false);
    }
  });

  it.each(['.', '..'])('accept a payment of the order %s, which a release before took', (orderId) => {
    const payment = { orderId, provider: 'p', reference: 'r', amount: 1, currency: 'EUR' };
    expect(isAccepted(() => checkReportedPayment(payment))).toBe(true);
  });

  it.each(['...', '.a', '..a', '-', '.-', `..${'a'.repeat(62)}`])('accept the id %s', (id) => {
    expect(isAccepted(() => checkNewOrders([order({ id })]))).toBe(true);
    expect(LIMITS.id.test(`${id.padEnd(64, 'x')}x`)).toBe(false);
  });

  it.each(BORDERS)('are those of %s', async (_column, taken, refused, change) => {
    for (const value of taken) {
      const given = order(change(value as never));
      expect([value, isAccepted(() => checkNewOrders([given])), await isStorable(given)]).toEqual([value, true, true]);
    }
    for (const value of refused) {
      const given = order(change(value as never));
      expect([value, isAccepted(() => checkNewOrders([given])), await isStorable(given)]).toEqual([
        value,
        false,
        false,
      ]);
    }
  });

  it('accept nothing that the tables reject', async () => {
    const outcomes: Record<string, number> = {};
    await fc.assert(
      fc.asyncProperty(arbitraryOrder, async (fields) => {
        const given = toModuleOrder({ id: newId(), ...fields }) as unknown as NewOrder;
        if (!isAccepted(() => checkNewOrders([given]))) return;
        for (const { sku } of given.lines ?? [])
          await shop.inventory.setStock(shop.dataSource.manager, sku, LIMITS.stock);
        const [result] = await shop.place.execute([given]);
        const outcome = result?.outcome === 'rejected' ? result.code : (result?.outcome ?? 'none');
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
        if (outcome === 'placed') expect(await shop.readOrder.execute(given.id)).toMatchObject({ id: given.id });
      }),
      { numRuns: 400 },
    );
    expect(Object.keys(outcomes).filter((outcome) => !['OUT_OF_STOCK', 'PAYMENT_WINDOW_OUT_OF_RANGE'].includes(outcome))).toEqual(['placed']); // prettier-ignore
    expect(outcomes['placed']).toBeGreaterThan(50);
  });

  it('accept no payment that the tables reject', async () => {
    const mostly = <T>(good: T[], bad: T[]): fc.Arbitrary<T> =>
      fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...good) }, fc.constantFrom(...bad));
    const odd = mostly(['a', 'line\nbreak', text(64), 'x'.repeat(64)], ['\0', '\ud800', '', text(300)]);
    const payments = fc.record(
      {
        provider: odd,
        reference: fc.tuple(odd, fc.uuid()).map(([value, unique]) => value + unique),
        amount: mostly<number | bigint>([1, 1n, LIMITS.money], [0, 2n ** 60n]),
        currency: mostly(['EUR'], ['eur']),
        // Unique, because a transaction that another order counts on is the same payment.
        transactionId: fc.tuple(odd, fc.uuid()).map(([value, unique]) => value + unique),
        merchantAccount: odd,
        paidAt: mostly([new Date(0), new Date(), LIMITS.latest], [new Date(NaN), new Date(-1)]),
      },
      { requiredKeys: ['provider', 'reference', 'amount', 'currency'] },
    );
    let booked = 0;
    await fc.assert(
      fc.asyncProperty(payments, fc.boolean(), async (fields, isKnown) => {
        const given = { ...fields, orderId: newId() } as ReportedPayment;
        if (!isAccepted(() => checkReportedPayment(given))) return;
        if (isKnown) await shop.place.execute([order({ id: given.orderId })]);
        const { outcome } = await shop.markPaid.execute(given);
        expect(outcome).toBe(isKnown ? 'paid' : 'unknown-order');
        booked += 1;
      }),
      { numRuns: 400 },
    );
    expect(booked).toBeGreaterThan(50);
  });
});
