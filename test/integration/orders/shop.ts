import { Test } from '@nestjs/testing';
import { AbstractLogger, type EntityManager } from 'typeorm';
import { CLOCK, SystemClock } from '../../../src/clock';
import { Database } from '../../../src/database';
import { Outbox } from '../../../src/outbox';
import { Inventory } from '../../../src/inventory';
import { EndOrder } from '../../../src/orders/close/end-order';
import { type AttemptFinding } from '../../../src/orders/model/findings';
import { checkReportedPayment } from '../../../src/orders/input/check-input';
import { CheckPayment, ReconcilePayments } from '../../../src/orders/pay/reconcile-payments';
import { CloseUnpaidOrders } from '../../../src/orders/close/close-unpaid-orders';
import { RefundPayments } from '../../../src/orders/unmatched/refunds';
import { WatchEndedOrders } from '../../../src/orders/unmatched/payment-watch';
import { Deadlines, RemindBeforeDeadline } from '../../../src/orders/deadline/deadline';
import { MarkPaid } from '../../../src/orders/pay/mark-paid';
import { type NewOrder } from '../../../src/orders/model/new-order';
import { PAYMENT_RECONCILIATION, ORDER_REMINDER, ORDER_PAYMENT } from '../../../src/orders/model/order-timeouts';
import { AssignUnmatched } from '../../../src/orders/operator/assign-unmatched';
import { BulkActions } from '../../../src/orders/operator/bulk-actions';
import { RefundPayment, ReviveOrder } from '../../../src/orders/operator/refund-and-revive';
import { SettleUnmatched, UnmatchedPayments } from '../../../src/orders/operator/settle-unmatched';
import { OrderListeners } from '../../../src/orders/listeners/order-listeners';
import { OrderTransaction } from '../../../src/orders/sql/order-transaction';
import { type OrderPolicyOptions } from '../../../src/orders/model/order-policies';
import { PlaceOrders } from '../../../src/orders/place/place-orders';
import { ReadOrder, ListOrders } from '../../../src/orders/read/read-orders';
import { RegisterAttempt } from '../../../src/orders/pay/register-attempt';
import { Purge, purgeSteps, resolveRetention, type RetentionOptions } from '../../../src/orders/retention/purge';
import { OrderStore } from '../../../src/orders/sql/order-store';
import { ORDER_PROVIDERS, ORDERS_OPTIONS } from '../../../src/orders/orders.providers';
import { PaymentObservers, type PaymentProvider, PaymentProviders } from '../../../src/payments';
import {
  RESOLVED_TIMEOUTS_OPTIONS,
  type DueTimeout,
  type TimeoutOutcome,
  type TimeoutRef,
  TimeoutScheduler,
} from '../../../src/timeouts';
import { TimeoutQueries } from '../../../src/timeouts/scheduling/timeout-scheduler';
import { createDatabase } from '../../support/database';
import { FakeProvider } from './fake-provider';

export const SCHEMA = 'order_timeout';

/** Policies under which only orders change. The handling of unmatched money is tested separately. */
export const KEEPING = { latePayment: 'keep', surplusPayment: 'keep', partialPayment: 'park' } as const;

/** A shop on a real database, with the engine's scheduler but without its loops: the test decides what is due when. */
export type Shop = Awaited<ReturnType<typeof openShop>>;

/** @param extra options of the connection pool. */
export async function openShop(policies: OrderPolicyOptions = {}, extra: object = {}) {
  const database = await createDatabase(extra);
  const { dataSource } = database;
  const woken: TimeoutRef[] = [];
  const failures: string[] = [];
  // The use cases retry after a deadlock, so a test that allows none must check the single statements.
  Object.assign(dataSource, { logger: new FailureLog(failures) });
  const scheduler = new TimeoutScheduler({
    dataSource,
    queries: new TimeoutQueries(SCHEMA),
    writesWakeUps: true,
    horizonMs: 86_400_000,
    wake: (refs) => woken.push(...refs),
  });
  const provider = new FakeProvider('fake', dataSource);
  // Attempts of unknown providers serve as separate payment methods.
  const options = { policies: { unknownProviders: 'allow', ...policies } } as const;
  const servicesWith = (providers: PaymentProviders) =>
    Test.createTestingModule({
      providers: [
        ...ORDER_PROVIDERS,
        PaymentObservers,
        { provide: ORDERS_OPTIONS, useValue: options },
        { provide: RESOLVED_TIMEOUTS_OPTIONS, useValue: { consume: false } },
        { provide: Database, useValue: new Database(dataSource, SCHEMA) },
        { provide: Outbox, useValue: new Outbox({ schema: SCHEMA, horizonMs: 86_400_000 }) },
        { provide: TimeoutScheduler, useValue: scheduler },
        { provide: PaymentProviders, useValue: providers },
        { provide: CLOCK, useClass: SystemClock },
      ],
    }).compile();
  const services = await servicesWith(new PaymentProviders([provider]));
  const deadlines = services.get(Deadlines);
  const ending = services.get(EndOrder);
  const readOrder = services.get(ReadOrder);
  return {
    database,
    dataSource,
    scheduler,
    woken,
    /** SQLSTATEs of failed statements. */
    failures,
    provider,
    services,
    /** The services of another process on this database, which knows these providers. */
    servicesWith: (...others: PaymentProvider[]) => servicesWith(new PaymentProviders(others)),
    inventory: services.get(Inventory),
    listeners: services.get(OrderListeners),
    store: services.get(OrderStore),
    transaction: services.get(OrderTransaction),
    markPaid: services.get(MarkPaid),
    readOrder,
    list: services.get(ListOrders),
    bulk: services.get(BulkActions),
    place: services.get(PlaceOrders),
    register: services.get(RegisterAttempt),
    check: services.get(CheckPayment),
    extend: { execute: deadlines.extend.bind(deadlines) },
    cancel: { execute: ending.cancel.bind(ending) },
    setAutoClose: { execute: deadlines.setAutoClose.bind(deadlines) },
    unmatched: services.get(UnmatchedPayments),
    settleUnmatched: services.get(SettleUnmatched),
    assign: services.get(AssignUnmatched),
    refund: services.get(RefundPayment),
    revive: services.get(ReviveOrder),
    close: { execute: ending.close.bind(ending) },
    history: { execute: readOrder.history.bind(readOrder) },
    closing: services.get(CloseUnpaidOrders),
    reconciling: services.get(ReconcilePayments),
    reminding: services.get(RemindBeforeDeadline),
    watching: services.get(WatchEndedOrders),
    refunding: services.get(RefundPayments),
  };
}

/** The purge of what is not kept. */
export function purgeOf(
  { transaction, inventory, listeners }: Shop,
  keep: RetentionOptions,
  clock = new SystemClock(),
) {
  return new Purge(purgeSteps(transaction.database, inventory, listeners, resolveRetention(keep)), clock);
}

class FailureLog extends AbstractLogger {
  constructor(private readonly failures: string[]) {
    super('all');
  }

  override logQueryError(error: string | Error): void {
    this.failures.push((error as { code?: string }).code ?? String(error));
  }

  protected writeLog(): void {}
}

let counter = 0;

/** A small valid order. It is due already unless the test says otherwise. */
export function newOrder(overrides: Partial<NewOrder> = {}): NewOrder {
  return {
    id: `order-${++counter}`,
    amount: 1_999,
    currency: 'EUR',
    paymentWindowMs: 0,
    lines: [{ sku: 'apple', quantity: 1, unitAmount: 1_999 }],
    ...overrides,
  };
}

export function dueOf(
  key: string,
  overrides: Partial<DueTimeout<AttemptFinding[]>> = {},
): DueTimeout<AttemptFinding[]> {
  const dueAt = new Date();
  return { kind: ORDER_PAYMENT, key, generation: '1', dueAt, attempts: 0, payload: {}, cause: 'message', ...overrides };
}

/** Handles one batch as the engine does: settle, and if requested, look up outside the transaction and settle again. */
export async function settle(shop: Shop, ids: readonly string[], cause: DueTimeout['cause'] = 'message') {
  const due = ids.map((id) => dueOf(id, { cause }));
  const first = await shop.dataSource.transaction((tx) => shop.closing.handleBatch(due, tx));
  const asking = due.filter((_, index) => first[index]?.type === 'look-up');
  if (asking.length === 0) return first;
  const signal = new AbortController().signal;
  const answered = await Promise.all(
    asking.map(async (timeout) => ({ ...timeout, answer: await shop.closing.lookUp(timeout, signal) })),
  );
  const second = await shop.dataSource.transaction((tx) => shop.closing.handleBatch(answered, tx));
  const answers = new Map(answered.map((timeout, index) => [timeout.key, second[index]]));
  return due.map((timeout, index) => answers.get(timeout.key) ?? first[index]) as TimeoutOutcome[];
}

/** Settles repeatedly, as the engine does, until nothing asks for a retry. */
export async function settleUntilDone(shop: Shop, ids: readonly string[], rounds = 50): Promise<TimeoutOutcome[]> {
  let left = [...ids];
  const last = new Map<string, TimeoutOutcome>();
  for (let round = 0; left.length > 0 && round < rounds; round++) {
    const outcomes = await settle(shop, left);
    left.forEach((id, index) => last.set(id, outcomes[index] as TimeoutOutcome));
    left = left.filter((id) => last.get(id)?.type === 'retry');
  }
  return ids.map((id) => last.get(id) as TimeoutOutcome);
}

/** One run of a timeout, as the engine makes it: settle, look up outside the transaction, settle. */
export async function runOnce<T>(
  { dataSource }: Shop,
  handler: {
    handleBatch(due: DueTimeout<T>[], tx: EntityManager): Promise<TimeoutOutcome[]>;
    lookUp(due: DueTimeout, signal: AbortSignal): Promise<T>;
  },
  due: DueTimeout,
): Promise<TimeoutOutcome> {
  const settleNow = async (one: DueTimeout): Promise<TimeoutOutcome> => {
    const outcomes = await dataSource.transaction((tx) => handler.handleBatch([one as DueTimeout<T>], tx));
    return outcomes[0] as TimeoutOutcome;
  };
  const first = await settleNow(due);
  if (first.type !== 'look-up') return first;
  const answer = await handler.lookUp(due, new AbortController().signal);
  return settleNow({ ...due, answer });
}

/** Looks up the payments of an order and books the answers. */
export function reconcile(shop: Shop, orderId: string, lateMs = 0): Promise<TimeoutOutcome> {
  const due = dueOf(orderId, { kind: PAYMENT_RECONCILIATION, dueAt: new Date(Date.now() - lateMs) });
  return runOnce(shop, shop.reconciling, due);
}

/** The effect of a provider's notification on an attempt that is registered and counts as closed. */
export async function notified(shop: Shop, orderId: string, reference: string, amount = 1_999, currency = 'EUR') {
  const payment = { orderId, provider: 'fake', reference, amount, currency };
  checkReportedPayment(payment);
  await shop.dataSource.query(
    `INSERT INTO ${SCHEMA}.payment_attempt (provider, reference, order_id, status, amount, currency)
     SELECT 'fake', $2, id, 'CLOSED', 1999, 'EUR' FROM ${SCHEMA}.orders WHERE id = $1 ON CONFLICT DO NOTHING`,
    [orderId, reference],
  );
  return shop.markPaid.confirm(payment, { cause: 'notify' }, { account: null });
}

export interface StoredEvent {
  readonly routing_key: string;
  readonly body: Record<string, unknown>;
}

export function eventsOf(shop: Shop, orderId: string): Promise<StoredEvent[]> {
  return shop.dataSource.query(
    `SELECT routing_key, body FROM ${SCHEMA}.outbox WHERE route = 'event' AND body->>'orderId' = $1 ORDER BY id`,
    [orderId],
  );
}

export function unmatchedOf(
  shop: Shop,
  orderId: string,
): Promise<{ reason: string; amount: string; reference: string; handling?: string }[]> {
  return shop.dataSource.query(
    `SELECT reason, amount, reference FROM ${SCHEMA}.unmatched_payment WHERE order_id = $1 ORDER BY id`,
    [orderId],
  );
}

export function timeoutsOf(shop: Shop, orderId: string): Promise<{ kind: string; key: string; due_at: Date }[]> {
  return shop.dataSource.query(
    `SELECT kind, key, due_at FROM ${SCHEMA}.timeout
      WHERE (kind = '${ORDER_PAYMENT}' AND key = $1) OR (kind = '${ORDER_REMINDER}' AND key LIKE $1 || ':%') ORDER BY kind, key`,
    [orderId],
  );
}

export async function stockOf(shop: Shop, sku: string): Promise<{ onHand: number; reserved: number }> {
  const [level] = await shop.inventory.read(shop.dataSource.manager, [sku]);
  return { onHand: level?.onHand ?? -1, reserved: level?.reserved ?? -1 };
}

export function fill(shop: Shop, stock: Record<string, number>, tx?: EntityManager): Promise<unknown> {
  const manager = tx ?? shop.dataSource.manager;
  return Promise.all(Object.entries(stock).map(([sku, onHand]) => shop.inventory.setStock(manager, sku, onHand)));
}
