import { type LedgerEntry } from 'nestjs-order-timeout-payment-simulator';
import { moneyProblems, type OpenRowFact } from '../support/checks/money-checks';
import { type EventFact } from '../support/checks/facts';
import { eventProblems, historyProblems, reservationProblems, stockProblems } from '../support/checks/order-checks';
import { Records } from '../support/checks/records';
import { type Bank, type BankPayment } from './bank';
import { type Kernel } from './kernel';
import { STOCK } from './people';
import { type Stage } from './stage';

interface OrderTraits {
  readonly id: string;
  readonly status: string;
  readonly autoClose: boolean;
  readonly isErased: boolean;
}

interface StoredTimeout {
  readonly kind: string;
  readonly key: string;
  readonly state: string;
}

/** What must not be when a world has come to rest, by the books of the bank and by the tables. */
export async function checkWorld(
  kernel: Kernel,
  stage: Stage,
  bank: Bank,
  events: readonly EventFact[],
): Promise<string[]> {
  const records = Records.on(<T>(sql: string) => kernel.query(sql) as Promise<T>);
  const orders = await kernel.query<OrderTraits>(
    'SELECT id, status, auto_close AS "autoClose", erased_at IS NOT NULL AS "isErased" FROM order_timeout.orders ORDER BY id',
  );
  const timeouts = await kernel.query<StoredTimeout>('SELECT kind, key, state FROM order_timeout.timeout');
  return [
    ...endlessProblems(orders, timeouts),
    ...placingProblems(stage, orders),
    ...(await recordProblems(records, stage, events)),
    ...(await ledgerProblems(kernel, records, bank, orders)),
    ...(stage.busy > 0 ? [`${stage.busy} people have not come to an end`] : []),
  ];
}

function endlessProblems(orders: readonly OrderTraits[], timeouts: readonly StoredTimeout[]): string[] {
  const pending = timeouts.filter(({ state }) => state !== 'parked');
  const isParked = ({ id }: OrderTraits): boolean =>
    timeouts.some(({ key, state }) => key === id && state === 'parked');
  const open = orders.filter(({ status, autoClose }) => ['PENDING', 'CLOSING'].includes(status) && autoClose);
  return [
    ...pending.map(({ kind, key, state }) => `${kind} ${key} is still ${state}`),
    ...open.filter((order) => !isParked(order)).map(({ id, status }) => `${id} is still ${status}`),
  ];
}

/** What a shop was told is true. */
function placingProblems({ lines, unplaced }: Stage, orders: readonly OrderTraits[]): string[] {
  const ids = new Set(orders.map(({ id }) => id));
  return [
    ...[...lines.keys()].filter((id) => !ids.has(id)).map((id) => `${id} was placed and is not there`),
    ...[...unplaced].filter((id) => ids.has(id)).map((id) => `${id} was rolled back and is there`),
  ];
}

async function recordProblems(records: Records, stage: Stage, events: readonly EventFact[]): Promise<string[]> {
  const placed = [...(await records.orderRecords()).values()].map((record) => {
    const lines = stage.lines.get(record.id) ?? [];
    return { ...record, lines, status: freed(record.status) };
  });
  return [
    ...placed.flatMap(({ id, version, history }) => historyProblems(id, version, history)),
    ...placed.flatMap(({ id, history }) => eventProblems(id, history, ofOrder(id, events))),
    ...placed.flatMap((order) => reservationProblems(order.id, order, order.reservations)),
    ...stockProblems(await records.stock(), () => STOCK, placed),
  ];
}

function ofOrder(id: string, events: readonly EventFact[]): EventFact[] {
  return events.filter(({ orderId }) => orderId === id);
}

/** The goods of an order are free as soon as its money is on the way back. */
function freed(status: string): string {
  return status === 'REFUNDING' ? 'CLOSED_REFUNDED' : status;
}

async function ledgerProblems(
  kernel: Kernel,
  records: Records,
  bank: Bank,
  orders: readonly OrderTraits[],
): Promise<string[]> {
  const { claims, openRows } = await records.money();
  const entryOf = ({ reference, account, transactionId, amount, refunded }: BankPayment): LedgerEntry => {
    const money = { paidAmount: String(amount), refundedAmount: String(refunded) };
    return { provider: bank.name, reference, merchantAccount: account, transactionId, ...money } as LedgerEntry;
  };
  const seen = [...openRows, ...(await kernel.query<OpenRowFact>(SEEN_ELSEWHERE))];
  const erased = new Set(orders.filter(({ isErased }) => isErased).map(({ id }) => id));
  // No table says any more which payments such an order had.
  const forgotten = bank.payments.filter(({ orderId }) => erased.has(orderId)).map(({ reference }) => ` ${reference} `);
  return moneyProblems({ ledger: bank.payments.map(entryOf), claims, openRows: seen }).filter(
    (says) => !(says.endsWith('nobody knows') && forgotten.some((name) => says.includes(name))),
  );
}

/**
 * What a person can see without a row of unmatched_payment: the money of parked orders and refunds, and that of orders which
 * nobody closes automatically.
 */
const SEEN_ELSEWHERE = `
  SELECT a.provider, a.reference, a.merchant_account AS "merchantAccount", 'parked' AS reason,
         coalesce(a.transaction_id, '') AS "transactionId"
    FROM order_timeout.payment_attempt a JOIN order_timeout.timeout t ON t.key = a.order_id AND t.state = 'parked'
  UNION ALL
  SELECT r.provider, r.reference, r.merchant_account, 'parked', ''
    FROM order_timeout.refund r JOIN order_timeout.timeout t ON t.key = r.number AND t.state = 'parked'
  UNION ALL
  SELECT a.provider, a.reference, a.merchant_account, 'pending', coalesce(a.transaction_id, '')
    FROM order_timeout.payment_attempt a JOIN order_timeout.orders o ON o.id = a.order_id
   WHERE o.status = 'PENDING' AND NOT o.auto_close`;
