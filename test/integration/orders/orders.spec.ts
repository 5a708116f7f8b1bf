import { Test, type TestingModule } from '@nestjs/testing';
import { type EntityManager } from 'typeorm';
import { Inventory } from '../../../src/inventory';
import { ORDER_PROVIDERS, Orders, ORDERS_OPTIONS } from '../../../src/orders';
import { PaymentObservers, PaymentProviders } from '../../../src/payments';
import { TimeoutsModule } from '../../../src/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { newOrder, SCHEMA } from './shop';

type Action = (orders: Orders, orderId: string, tx: EntityManager) => Promise<{ outcome: string; code?: string }>;

/** With the transport `none`, and without consuming, nothing is asked of the broker. */
const UNUSED = { urls: ['amqp://127.0.0.1:1'] };
const HOUR = 3_600_000;
const by = { cause: 'api', actor: 'host' } as const;
const attempt = { provider: 'fake', reference: 'r-1' };
const payment = { ...attempt, amount: 1_999, currency: 'EUR' };
const reason = 'says a person';

/** The id of the payment that was reported in this transaction for an order that does not exist. */
async function unmatchedId(orders: Orders, tx: EntityManager): Promise<string> {
  await orders.markPaid({ ...payment, orderId: 'no-order' }, { tx });
  const [row] = await tx.query<[{ id: string }]>(
    `SELECT id FROM ${SCHEMA}.unmatched_payment WHERE order_id = 'no-order'`,
  );
  return row.id;
}

/** Every action that accepts a transaction, with its result for an order that exists only in that transaction. */
const ACTIONS: [string, Action, string][] = [
  [
    'registerAttempt',
    (orders, orderId, tx) => orders.registerAttempt({ orderId, ...attempt }, { by, tx }),
    'registered',
  ],
  ['markPaid', (orders, orderId, tx) => orders.markPaid({ orderId, ...payment }, { by, tx }), 'paid'],
  ['extendDeadline', (orders, orderId, tx) => orders.extendDeadline({ orderId, byMs: 1_000 }, { by, tx }), 'extended'],
  ['setAutoClose', (orders, orderId, tx) => orders.setAutoClose({ orderId, enabled: false }, { by, tx }), 'set'],
  ['cancel', (orders, orderId, tx) => orders.cancel({ orderId }, { by, tx }), 'cancelled'],
  ['close', (orders, orderId, tx) => orders.close({ orderId, reason }, { by, tx }), 'closed'],
  ['revive', (orders, orderId, tx) => orders.revive({ orderId, reason }, { by, tx }), 'ORDER_NOT_REVIVABLE'],
  ['erasePersonalData', (orders, orderId, tx) => orders.erasePersonalData({ orderId, reason }, { by, tx }), 'ORDER_NOT_FINISHED'], // prettier-ignore
  [
    'unmatched.assign',
    async (orders, orderId, tx) =>
      orders.unmatched.assign({ id: await unmatchedId(orders, tx), orderId, reason }, { by, tx }),
    'assigned',
  ],
  [
    'unmatched.settle',
    async (orders, _orderId, tx) => orders.unmatched.settle({ id: await unmatchedId(orders, tx), reason }, { by, tx }),
    'settled',
  ],
];

describe('Orders', () => {
  let database: TestDatabase;
  let module: TestingModule;
  let orders: Orders;

  beforeAll(async () => {
    database = await createDatabase();
    module = await Test.createTestingModule({
      imports: [
        TimeoutsModule.forRoot({ dataSource: database.dataSource, rabbit: UNUSED, transport: 'none', consume: false }),
      ],
      providers: [
        ...ORDER_PROVIDERS,
        { provide: ORDERS_OPTIONS, useValue: { policies: { unknownProviders: 'allow' } } },
        PaymentObservers,
        { provide: PaymentProviders, useValue: new PaymentProviders([]) },
      ],
    }).compile();
    orders = module.get(Orders);
    await module.init();
    await module.get(Inventory).setStock(database.dataSource.manager, 'apple', 1_000);
  });
  afterAll(async () => {
    await module.close();
    await database.drop();
  });

  it.each(ACTIONS)('%s is part of the transaction that it is given', async (_name, act, expected) => {
    const order = newOrder({ paymentWindowMs: HOUR });
    const runner = database.dataSource.createQueryRunner();
    await runner.startTransaction('READ COMMITTED');
    const tx = runner.manager;
    expect(await orders.place(order, { by, tx })).toMatchObject({ outcome: 'placed', id: order.id });
    const { outcome, code = outcome } = await act(orders, order.id, tx);
    await runner.rollbackTransaction();
    await runner.release();
    expect(code).toBe(expected);
    expect(await orders.get(order.id)).toBeUndefined();
    expect(await orders.unmatched.list()).toEqual([]);
  });

  it('stores who acted, and says `operator` for what only an operator may do', async () => {
    const [{ id }, other] = [newOrder({ paymentWindowMs: HOUR }), newOrder({ paymentWindowMs: HOUR })];
    const [placed, placedToo] = await orders.placeMany([newOrder({ id, paymentWindowMs: HOUR }), other], { by });
    expect([placed, placedToo]).toMatchObject([{ outcome: 'placed' }, { outcome: 'placed' }]);
    await orders.extendDeadline({ orderId: id, byMs: 1_000 });
    await orders.close({ orderId: id, reason }, { by: { actor: 'clerk' } });
    const history = await orders.history(id);
    expect(history.map(({ cause, actor }) => ({ cause, actor }))).toEqual([
      { cause: 'api', actor: 'host' },
      { cause: 'api', actor: null },
      { cause: 'operator', actor: 'clerk' },
    ]);
    expect(await orders.history('no-order')).toEqual([]);
  });

  it('checks and refunds without a transaction', async () => {
    const order = newOrder({ paymentWindowMs: HOUR });
    await orders.place(order);
    await orders.registerAttempt({ orderId: order.id, ...attempt });
    expect(await orders.checkPayment(order.id, { by })).toMatchObject({ code: 'PROVIDER_NOT_CONFIGURED' });
    const refund = { orderId: order.id, ...attempt, reason };
    expect(await orders.refund(refund, { by: { actor: 'clerk' } })).toMatchObject({ code: 'PAYMENT_NOT_FOUND' });
    const signal = AbortSignal.abort();
    expect(await orders.checkPayment('no-order', { signal })).toMatchObject({ code: 'ORDER_NOT_FOUND' });
  });

  it('hands notifications to their provider, and purges on demand', async () => {
    expect(await orders.handleWebhook('nobody', { headers: {}, rawBody: Buffer.alloc(0) })).toBeUndefined();
    expect(await orders.purge()).toEqual({ orders: 0, idempotencyKeys: 0, settledMoney: 0, hasMore: false });
  });
});
