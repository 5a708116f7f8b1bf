import { dataSourceStub } from '../../support/data-source-stub';
import { Database } from '../../../src/database';
import { type RefundRows } from '../../../src/orders/unmatched/refunds';
import { type MarkPaid } from '../../../src/orders/pay/mark-paid';
import { type ReportedPayment } from '../../../src/orders/model/reported-payment';
import { type OrderStore } from '../../../src/orders/sql/order-store';
import { type UnmatchedMoney } from '../../../src/orders/model/unmatched-money';
import { isSamePayment, type PaymentAttempt, type PaymentNames } from '../../../src/orders/model/order';
import { HandleNotification } from '../../../src/orders/pay/handle-notification';
import { type Notification, PaymentObservers, type PaymentProvider, PaymentProviders } from '../../../src/payments';
import { type TimeoutRef, type TimeoutScheduler } from '../../../src/timeouts';
import { attempt, NO_MONEY, NOW } from './orders';

const PAID: Notification = {
  type: 'PAID',
  reference: 'a-1',
  amount: 100n,
  currency: 'EUR',
  paidAt: NOW,
  transactionId: 't-1',
  evidence: { seen: true },
};

/** The use case with recorded dependencies. */
function desk(
  notification: Notification,
  known?: PaymentAttempt,
  fault?: Error,
  refunds: { number: string; isConfirmed: boolean }[] = [],
) {
  const booked: ReportedPayment[] = [];
  const kept: UnmatchedMoney[] = [];
  const woken: TimeoutRef[] = [];
  const scheduled: TimeoutRef[] = [];
  const untrusted: string[] = [];
  const provider: PaymentProvider = {
    name: 'fake',
    query: async () => ({ type: 'OPEN' }),
    close: async () => ({ type: 'CLOSED' }),
    refund: async () => ({ type: 'PENDING' }),
    notifications: { read: async () => notification, reply: (verdict) => ({ status: 200, body: verdict }) },
  };
  const store = {
    findAttempt: async (names: PaymentNames) => (known && isSamePayment(known, names) ? known : undefined),
    lock: async () => ({ now: NOW, orders: new Map(known ? [[known.orderId, { attempts: [known] }]] : []) }),
    samePayments: async () => ({ attempts: [], unowned: [], handled: [] }),
    lockPayments: async () => undefined,
    keepUnmatched: async (_tx: unknown, money: UnmatchedMoney[]) => void kept.push(...money),
  } as unknown as OrderStore;
  const markPaid = {
    confirm: async (payment: ReportedPayment) => {
      if (fault) throw fault;
      booked.push(payment);
    },
  } as unknown as MarkPaid;
  const observers = new PaymentObservers();
  observers.add({ untrusted: (name, source, reason) => untrusted.push(`${name} ${source} ${reason}`) });
  const scheduler = {
    lock: async () => [],
    wake: (refs: TimeoutRef[]) => woken.push(...refs),
    schedule: async (refs: TimeoutRef[]) => void scheduled.push(...refs),
  } as unknown as TimeoutScheduler;
  const providers = new PaymentProviders([provider]);
  const database = new Database(dataSourceStub(), 's');
  const rows = { ofOrder: async () => refunds } as unknown as RefundRows;
  const useCase = new HandleNotification(providers, observers, store, database, markPaid, scheduler, rows);
  const take = async () => (await useCase.execute('fake', { headers: {}, rawBody: Buffer.alloc(0) }))?.body;
  return { take, booked, kept, woken, scheduled, untrusted, useCase };
}

describe('a notification', () => {
  it('of a payment is booked on the order of its attempt, and acknowledged', async () => {
    const { take, booked, kept, scheduled } = desk(PAID, attempt());
    expect(await take()).toBe('accepted');
    expect(booked).toMatchObject([
      { orderId: 'o-1', provider: 'fake', reference: 'a-1', amount: 100n, currency: 'EUR' },
    ]);
    expect([kept, scheduled]).toEqual([[], []]);
  });

  it('of a payment belongs to the account that it names, otherwise to that of its attempt', async () => {
    const known = attempt({ merchantAccount: 'm-1' });
    const silent = desk(PAID, known);
    await silent.take();
    expect(silent.booked).toMatchObject([{ merchantAccount: 'm-1' }]);
    const named = desk({ ...PAID, merchantAccount: 'm-2' }, attempt());
    await named.take();
    expect(named.booked).toMatchObject([{ merchantAccount: 'm-2' }]);
    const without = desk(PAID, attempt());
    await without.take();
    expect(without.booked[0]).not.toHaveProperty('merchantAccount');
  });

  it('that cannot be stored is requested again', async () => {
    const { take, scheduled } = desk(PAID, attempt(), new Error('a listener throws'));
    expect(await take()).toBe('later');
    // The provider gives up after a day. A look-up that fails, too, is parked.
    expect(scheduled).toMatchObject([{ kind: 'payment.reconciliation', key: 'o-1' }]);
  });

  it('is not taken for that of an attempt that only a report has linked to it, which is looked up', async () => {
    const claim = attempt({ reference: 'mine', status: 'PAID', transactionId: 'a-1', paidSource: 'report' });
    const { take, kept, booked, scheduled } = desk(PAID, claim);
    expect(await take()).toBe('accepted');
    expect(booked).toEqual([]);
    expect(kept).toMatchObject([{ reason: 'unknown-order', orderId: null, handling: 'kept' }]);
    expect(scheduled).toMatchObject([{ kind: 'payment.reconciliation', key: 'o-1' }]);
  });

  it('is taken for that of an attempt that the provider has linked to it', async () => {
    const known = attempt({ reference: 'mine', status: 'PAID', transactionId: 'a-1', paidSource: 'provider' });
    const { take, booked } = desk(PAID, known);
    expect(await take()).toBe('accepted');
    expect(booked).toMatchObject([{ orderId: 'o-1' }]);
  });

  it.each(NO_MONEY)('that states %s is acknowledged, and a person is told', async (_what, part) => {
    const unknown = desk({ ...PAID, ...part });
    expect(await unknown.take()).toBe('accepted');
    const row = { reason: 'invalid-amount', handling: 'kept', amount: 0n, currency: 'XXX', source: 'provider' };
    expect(unknown.kept).toMatchObject([{ ...row, reference: 'a-1', orderId: null }]);
    const known = desk({ ...PAID, ...part }, attempt());
    expect(await known.take()).toBe('accepted');
    expect(known.kept).toMatchObject([{ ...row, reference: 'a-1', orderId: 'o-1' }]);
    expect(known.booked).toEqual([]);
    expect(known.scheduled).toMatchObject([{ kind: 'payment.reconciliation', key: 'o-1' }]);
  });

  it('that states no money names the order that has the payment under its id, unless only a report says so', async () => {
    const odd = { ...PAID, amount: 0n };
    const booked = desk(
      odd,
      attempt({ reference: 't-1', status: 'PAID', transactionId: 't-1', paidSource: 'provider' }),
    );
    await booked.take();
    expect(booked.kept).toMatchObject([
      { reason: 'invalid-amount', reference: 'a-1', transactionId: 't-1', orderId: 'o-1' },
    ]);
    const claimed = desk(
      odd,
      attempt({ reference: 'mine', status: 'PAID', transactionId: 't-1', paidSource: 'report' }),
    );
    await claimed.take();
    expect(claimed.kept).toMatchObject([{ reason: 'invalid-amount', orderId: null }]);
  });

  it('of a chargeback that states no money is told, too', async () => {
    const { take, kept } = desk({ type: 'CHARGEBACK', reference: 'a-1', amount: -1n, currency: 'EUR', evidence: {} });
    expect(await take()).toBe('accepted');
    expect(kept).toMatchObject([{ reason: 'chargeback', amount: 0n, currency: 'XXX' }]);
  });

  it('that states no money keeps what it stated as evidence only', async () => {
    const { take, kept } = desk({ ...PAID, amount: -5n, currency: 'USDT' });
    await take();
    expect(kept).toMatchObject([{ evidence: { stated: { amount: '-5', currency: 'USDT' } } }]);
  });

  it('of an attempt that was not registered is kept as money of an unknown order', async () => {
    const { take, kept, booked } = desk(PAID);
    expect(await take()).toBe('accepted');
    expect(kept).toMatchObject([{ reason: 'unknown-order', orderId: null, amount: 100n, handling: 'kept' }]);
    expect(booked).toEqual([]);
  });

  it('for another merchant than that of the attempt pays nothing, and is kept', async () => {
    const { take, kept, booked } = desk({ ...PAID, merchantAccount: 'b' }, attempt({ merchantAccount: 'a' }));
    expect(await take()).toBe('accepted');
    expect(kept).toMatchObject([{ reason: 'unknown-order', orderId: null, merchantAccount: 'b' }]);
    expect(booked).toEqual([]);
  });

  it('that is not authentic changes nothing, and is counted', async () => {
    const { take, booked, kept, woken, untrusted } = desk({ type: 'REJECTED', reason: 'wrong signature' }, attempt());
    expect(await take()).toBe('rejected');
    expect([booked, kept, woken]).toEqual([[], [], []]);
    expect(untrusted).toEqual(['fake notification wrong signature']);
  });

  it('of another change starts a look-up, whatever is due', async () => {
    const news: Notification = { type: 'STATUS_CHANGED', reference: 'a-1', evidence: {} };
    const { take, woken, scheduled, booked } = desk(news, attempt());
    expect(await take()).toBe('accepted');
    expect(scheduled).toMatchObject([{ kind: 'payment.reconciliation', key: 'o-1' }]);
    expect(woken.map(({ kind, key }) => `${kind} ${key}`)).toEqual(['order.payment o-1', 'order.late-watch o-1']);
    expect(booked).toEqual([]);
  });

  it('of another change is acknowledged if nothing is known of its attempt', async () => {
    const { take, scheduled, woken, kept } = desk({ type: 'STATUS_CHANGED', reference: 'a-1', evidence: {} });
    expect(await take()).toBe('accepted');
    expect([scheduled, woken, kept]).toEqual([[], [], []]);
  });

  it('of another change asks again for the refunds that are done, because they may have failed', async () => {
    const news: Notification = { type: 'STATUS_CHANGED', reference: 'a-1', evidence: {} };
    const { take, scheduled, woken } = desk(news, attempt(), undefined, [{ number: 'r-done', isConfirmed: true }]);
    expect(await take()).toBe('accepted');
    expect(scheduled).toContainEqual({ kind: 'payment.refund', key: 'r-done', payload: { isCheck: true }, afterMs: 0 });
    expect(woken).not.toContainEqual(expect.objectContaining({ key: 'r-done' }));
  });

  it('of a chargeback is kept for a person, with its order', async () => {
    const news = {
      type: 'CHARGEBACK',
      reference: 'a-1',
      amount: 40n,
      currency: 'EUR',
      evidence: { dispute: 'd' },
    } as const;
    const { take, kept, booked } = desk(news, attempt());
    expect(await take()).toBe('accepted');
    expect(kept).toMatchObject([{ reason: 'chargeback', handling: 'kept', orderId: 'o-1', amount: 40n }]);
    expect(booked).toEqual([]);
  });

  it('of no interest is acknowledged', async () => {
    expect(await desk({ type: 'IGNORED', reason: 'a coupon' }).take()).toBe('accepted');
  });

  it('for an unknown provider has no response', async () => {
    const { useCase } = desk(PAID);
    expect(await useCase.execute('other', { headers: {}, rawBody: Buffer.alloc(0) })).toBeUndefined();
  });
});
