import { AbstractLogger, type EntityManager } from 'typeorm';
import { SystemClock } from '../../../src/clock';
import { Outbox } from '../../../src/outbox';
import { Inventory } from '../../../src/inventory';
import { CancelOrder } from '../../../src/orders/close/cancel-order';
import { PaymentLookups } from '../../../src/orders/lookup/payment-lookups';
import { type AttemptFinding } from '../../../src/orders/model/findings';
import { checkReportedPayment } from '../../../src/orders/input/check-input';
import { CheckPayment, ReconcilePayments, ReleaseClaims } from '../../../src/orders/pay/reconcile-payments';
import { CloseUnpaidOrders } from '../../../src/orders/close/close-unpaid-orders';
import { HandleUnmatched } from '../../../src/orders/unmatched/handle-unmatched';
import { PaymentWatch } from '../../../src/orders/unmatched/payment-watch';
import { RefundPayments } from '../../../src/orders/unmatched/refund-payments';
import { RefundRows } from '../../../src/orders/unmatched/refund-rows';
import { WatchEndedOrders } from '../../../src/orders/unmatched/watch-ended-orders';
import { ExtendDeadline, RemindBeforeDeadline, SetAutoClose } from '../../../src/orders/deadline/deadline';
import { MarkPaid } from '../../../src/orders/pay/mark-paid';
import { type NewOrder } from '../../../src/orders/model/new-order';
import { AssignUnmatched } from '../../../src/orders/operator/assign-unmatched';
import { BulkActions, BulkRun } from '../../../src/orders/operator/bulk-actions';
import { CloseOrder } from '../../../src/orders/operator/close-order';
import { RefundPayment } from '../../../src/orders/operator/refund-payment';
import { ReviveOrder } from '../../../src/orders/operator/revive-order';
import { SettleUnmatched, UnmatchedPayments } from '../../../src/orders/operator/settle-unmatched';
import { UnmatchedRows } from '../../../src/orders/unmatched/unmatched-payment';
import { OrderEventLog, OrderListeners } from '../../../src/orders/listeners/order-listeners';
import { OrderTransaction } from '../../../src/orders/sql/order-transaction';
import { OrderPolicies, type OrderPolicyOptions } from '../../../src/orders/model/order-policies';
import { ORDER_PAYMENT, ORDER_REMINDER, PAYMENT_RECONCILIATION } from '../../../src/orders/model/order-timeouts';
import { PlaceOrders } from '../../../src/orders/place/place-orders';
import { NoteUnmatchedMoney } from '../../../src/orders/unmatched/note-unmatched-money';
import { ReadHistory, ReadOrder } from '../../../src/orders/read/read-order';
import { ListOrders } from '../../../src/orders/read/list-orders';
import { RegisterAttempt } from '../../../src/orders/pay/register-attempt';
import { OrderStore } from '../../../src/orders/sql/order-store';
import { PaymentProviders } from '../../../src/payments';
import { type DueTimeout, type TimeoutOutcome, type TimeoutRef, TimeoutScheduler } from '../../../src/timeouts';
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
  const inventory = new Inventory(SCHEMA);
  // Attempts of unknown providers serve as separate payment methods.
  const resolved = new OrderPolicies({ unknownProviders: 'allow', ...policies });
  const listeners = new OrderListeners(scheduler);
  const reporting = { audience: listeners, writesEvents: true };
  const provider = new FakeProvider('fake', dataSource);
  const providers = new PaymentProviders([provider]);
  const store = new OrderStore(dataSource, SCHEMA, inventory, reporting, providers);
  const ask = new PaymentLookups(providers);
  const transaction = new OrderTransaction({ dataSource, schema: SCHEMA, store, scheduler });
  const refunds = new RefundRows(dataSource, SCHEMA);
  const found = new NoteUnmatchedMoney(store, scheduler);
  const handleUnmatched = new HandleUnmatched({ store, scheduler, policies: resolved, refunds, found, providers });
  const watch = new PaymentWatch(scheduler, resolved);
  const outbox = new Outbox({ schema: SCHEMA, horizonMs: 86_400_000 });
  const events = new OrderEventLog(outbox, listeners);
  const markPaid = new MarkPaid(transaction, handleUnmatched, watch, providers);
  const rows = new UnmatchedRows(SCHEMA);
  const settling = new SettleUnmatched(transaction, rows, watch);
  const assigning = new AssignUnmatched(transaction, rows, markPaid, providers);
  const readOrder = new ReadOrder(dataSource, scheduler, SCHEMA);
  const clock = new SystemClock();
  const list = new ListOrders({ dataSource, schema: SCHEMA, scheduler, clock });
  const extend = new ExtendDeadline(transaction, resolved);
  const cancel = new CancelOrder(transaction, watch, found);
  const close = new CloseOrder(transaction, watch);
  const run = new BulkRun({ dataSource, listing: list, clock });
  return {
    database,
    dataSource,
    scheduler,
    woken,
    /** SQLSTATEs of failed statements. */
    failures,
    inventory,
    listeners,
    store,
    transaction,
    handleUnmatched,
    watch,
    policies: resolved,
    provider,
    markPaid,
    readOrder,
    list,
    bulk: new BulkActions(run, extend, cancel, close),
    place: new PlaceOrders({
      dataSource,
      schema: SCHEMA,
      scheduler,
      inventory,
      policies: resolved,
      providers,
      reporting,
    }),
    register: new RegisterAttempt(transaction, resolved, providers),
    check: new CheckPayment(store, ask, markPaid, readOrder),
    extend,
    cancel,
    setAutoClose: new SetAutoClose(transaction),
    unmatched: new UnmatchedPayments({ dataSource, rows, assigning, settling }),
    settleUnmatched: settling,
    assign: assigning,
    refund: new RefundPayment({ transaction, unmatched: handleUnmatched, found, markPaid, ask, providers }),
    revive: new ReviveOrder({ transaction, unmatched: handleUnmatched, found, inventory, rows }),
    close,
    history: new ReadHistory(dataSource, SCHEMA),
    closing: new CloseUnpaidOrders({
      store,
      providers: ask,
      policies: resolved,
      unmatched: handleUnmatched,
      found,
      watch,
      scheduler,
    }),
    reconciling: new ReconcilePayments({
      ...{ store, providers: ask, markPaid, unmatched: handleUnmatched, scheduler },
      claims: new ReleaseClaims(transaction, watch),
    }),
    reminding: new RemindBeforeDeadline(store, events),
    watching: new WatchEndedOrders({ store, providers: ask, policies: resolved, unmatched: handleUnmatched, found }),
    refunding: new RefundPayments({ store, refunds, providers: ask, events }),
  };
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

/** Looks up the payments of an order and books the answers: settle, look up outside the transaction, settle. */
export async function reconcile(shop: Shop, orderId: string, lateMs = 0): Promise<TimeoutOutcome | undefined> {
  const due = dueOf(orderId, { kind: PAYMENT_RECONCILIATION, dueAt: new Date(Date.now() - lateMs) });
  const [first] = await shop.dataSource.transaction((tx) => shop.reconciling.handleBatch([due], tx));
  if (first?.type !== 'look-up') return first;
  const answer = await shop.reconciling.lookUp(due, new AbortController().signal);
  const [second] = await shop.dataSource.transaction((tx) => shop.reconciling.handleBatch([{ ...due, answer }], tx));
  return second;
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
