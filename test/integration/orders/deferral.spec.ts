import { Test, type TestingModule } from '@nestjs/testing';
import { Inventory } from '../../../src/inventory';
import { ORDER_PROVIDERS, Orders, ORDERS_OPTIONS, PAYMENT_REFUND } from '../../../src/orders';
import { PAYMENT_RECONCILIATION, ORDER_LATE_WATCH, ORDER_PAYMENT } from '../../../src/orders/model/order-timeouts';
import { MarkPaid } from '../../../src/orders/pay/mark-paid';
import { refundNumber } from '../../../src/orders/model/unmatched-money';
import { PaymentObservers, PaymentProviders } from '../../../src/payments';
import { shiftTimes } from '../../../src/testing/order-timeout-test-kit';
import {
  ParkedTimeouts,
  TimeoutEngine,
  TimeoutObservers,
  TimeoutScheduler,
  TimeoutsModule,
} from '../../../src/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { Recorder } from '../../support/engine';
import { FakeProvider } from './fake-provider';
import { newOrder, SCHEMA } from './shop';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const KINDS = [ORDER_PAYMENT, PAYMENT_RECONCILIATION, ORDER_LATE_WATCH, PAYMENT_REFUND];
const BY = { by: 'anna', reason: 'maintenance' };
const DOWN = { type: 'UNKNOWN', reason: 'HTTP 503' } as const;

describe('look-ups that begin a day late, because their kinds were paused', () => {
  let database: TestDatabase;
  let module: TestingModule;
  let provider: FakeProvider;
  const settled = new Recorder();
  const keys: Record<string, string> = {};

  const attempt = (reference: string) => ({ provider: 'fake', reference });
  const pay = (orderId: string, reference: string) => ({
    orderId,
    ...attempt(reference),
    amount: 1_999,
    currency: 'EUR',
  });
  const place = async (reference: string) => {
    const order = newOrder({ paymentWindowMs: HOUR, attempt: attempt(reference) });
    expect(await module.get(Orders).place(order)).toMatchObject({ outcome: 'placed' });
    return order.id;
  };
  const closed = async (reference: string) => {
    const orderId = await place(reference);
    const close = { orderId, reason: 'gone', attemptsAreClosed: true };
    expect(await module.get(Orders).close(close, { by: { actor: 'anna' } })).toMatchObject({ outcome: 'closed' });
    return orderId;
  };
  const pause = async (isPaused: boolean) => {
    for (const kind of KINDS) await module.get(TimeoutEngine).controls.change(`kind:${kind}`, { pause: isPaused }, BY);
  };

  /** Something of each kind waits while the kinds are paused, for 26 hours; then providers answer 503. */
  beforeAll(async () => {
    database = await createDatabase();
    provider = new FakeProvider('fake', database.dataSource);
    module = await Test.createTestingModule({
      imports: [TimeoutsModule.forRoot({ dataSource: database.dataSource, sweep: { intervalMs: 100, marginMs: 0 } })],
      providers: [
        ...ORDER_PROVIDERS,
        { provide: ORDERS_OPTIONS, useValue: { policies: { reminderOffsetsMs: [], latePayment: 'refund' } } },
        PaymentObservers,
        { provide: PaymentProviders, useValue: new PaymentProviders([provider]) },
      ],
    }).compile();
    module.get(TimeoutObservers).add({ settled: (_kind, rows, nowMs) => settled.add(rows, nowMs) });
    await module.init();
    await module.get(Inventory).setStock(database.dataSource.manager, 'apple', 1_000);
    await pause(true);
    keys[ORDER_PAYMENT] = await place('overdue');
    keys[PAYMENT_RECONCILIATION] = await place('in-the-news');
    await module.get(Orders).setAutoClose({ orderId: keys[PAYMENT_RECONCILIATION], enabled: false });
    await module
      .get(TimeoutScheduler)
      .schedule([{ kind: PAYMENT_RECONCILIATION, key: keys[PAYMENT_RECONCILIATION], afterMs: 0 }]);
    keys[ORDER_LATE_WATCH] = await closed('watched');
    keys[PAYMENT_REFUND] = refundNumber(attempt('refunded'));
    const refunded = await closed('refunded');
    await module.get(MarkPaid).confirm(pay(refunded, 'refunded'), { cause: 'notify' }, { account: null });
    provider.answerRefund('refunded', DOWN);
    for (const reference of ['overdue', 'in-the-news', 'watched']) provider.answerQuery(reference, DOWN);
    await shiftTimes(database.dataSource, SCHEMA, 26 * HOUR);
  });
  afterAll(async () => {
    await module.close();
    await database.drop();
  });

  /** The next answer to what waits of this kind. */
  const next = async (kind: string) => {
    const from = settled.rows.length;
    const rows = () =>
      settled.rows.slice(from).filter(({ due, outcome }) => due.key === keys[kind] && outcome.type === 'retry');
    await settled.until(() => rows().length > 0);
    return rows()[0]?.outcome;
  };
  const retry = (attempts: number) => ({ type: 'retry', attempts });
  /** As if it had been looked up for this long, and is due again now. */
  const asked = (ms: number) =>
    database.dataSource.query(
      `UPDATE ${SCHEMA}.timeout SET next_attempt_at = now(), asked_since = now() - $2 * interval '1 millisecond',
              due_at = LEAST(due_at, now() - $2 * interval '1 millisecond') WHERE key = $1`,
      [keys[ORDER_PAYMENT], ms],
    );
  const dueNow = () =>
    database.dataSource.query(`UPDATE ${SCHEMA}.timeout SET next_attempt_at = now() WHERE key = $1`, [
      keys[ORDER_PAYMENT],
    ]);

  it('do not count toward parking when they begin', async () => {
    const answers = KINDS.map(next);
    await pause(false);
    expect(await Promise.all(answers)).toMatchObject(KINDS.map(() => retry(0)));
  });

  it('do not count after another such day either, because nobody could look up', async () => {
    await pause(true);
    await shiftTimes(database.dataSource, SCHEMA, 26 * HOUR);
    const answers = KINDS.map(next);
    await pause(false);
    expect(await Promise.all(answers)).toMatchObject(KINDS.map(() => retry(0)));
  });

  it('do not count while an operator has paused the provider, and the day begins after that', async () => {
    provider.answerQuery('overdue', { ...DOWN, paused: true });
    const paused = next(ORDER_PAYMENT);
    await asked(26 * HOUR);
    expect(await paused).toMatchObject({ ...retry(0), answers: 'none' });
    provider.answerQuery('overdue', DOWN);
    await dueNow();
    expect(await next(ORDER_PAYMENT)).toMatchObject(retry(0));
  });

  it('count after a day of answers that say nothing', async () => {
    const answer = next(ORDER_PAYMENT);
    await asked(25 * HOUR);
    expect(await answer).toMatchObject(retry(1));
  });

  it('count anew after a clear answer, and are not made more often for that', async () => {
    provider.answerQuery('overdue', { type: 'PROCESSING' });
    const clear = next(ORDER_PAYMENT);
    await asked(25 * HOUR);
    const outcomes = [await clear];
    provider.answerQuery('overdue', DOWN);
    await dueNow();
    outcomes.push(await next(ORDER_PAYMENT));
    expect(outcomes).toMatchObject([retry(0), retry(0)]);
    for (const outcome of outcomes) expect(outcome?.type === 'retry' && outcome.afterMs).toBeGreaterThanOrEqual(MINUTE);
  });

  it('begin anew when they are replayed', async () => {
    const key = keys[ORDER_PAYMENT] ?? '';
    await database.dataSource.query(
      `UPDATE ${SCHEMA}.timeout SET state = 'parked', asked_since = now() - interval '30 hours' WHERE key = $1`,
      [key],
    );
    const answer = next(ORDER_PAYMENT);
    expect(await module.get(ParkedTimeouts).replay([{ kind: ORDER_PAYMENT, key }])).toBe(1);
    expect(await answer).toMatchObject(retry(0));
  });
});
