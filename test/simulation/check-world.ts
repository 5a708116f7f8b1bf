import { type LedgerEntry } from 'nestjs-order-timeout-payment-simulator';
import { type HistoryFact, type ReservationFact, type StockLevel } from '../support/checks/facts';
import { type ClaimFact, moneyProblems, type OpenRowFact } from '../support/checks/money-checks';
import { historyProblems, reservationProblems, stockProblems } from '../support/checks/order-checks';
import { type Bank } from './bank';
import { type Kernel } from './kernel';
import { STOCK } from './people';
import { type Stage } from './stage';

interface StoredOrder {
  readonly id: string;
  readonly status: string;
  readonly version: number;
  readonly autoClose: boolean;
}

interface StoredTimeout {
  readonly kind: string;
  readonly key: string;
  readonly state: string;
}

/** What must not be when a world has come to rest, by the books of the bank and by the tables. */
export async function checkWorld(kernel: Kernel, stage: Stage, bank: Bank): Promise<string[]> {
  const orders = await kernel.query<StoredOrder>(
    'SELECT id, status, version, auto_close AS "autoClose" FROM order_timeout.orders ORDER BY id',
  );
  const timeouts = await kernel.query<StoredTimeout>('SELECT kind, key, state FROM order_timeout.timeout');
  return [
    ...endlessProblems(orders, timeouts),
    ...(await recordProblems(kernel, stage, orders)),
    ...(await ledgerProblems(kernel, bank)),
    ...(stage.busy > 0 ? [`${stage.busy} people have not come to an end`] : []),
  ];
}

function endlessProblems(orders: readonly StoredOrder[], timeouts: readonly StoredTimeout[]): string[] {
  const pending = timeouts.filter(({ state }) => state !== 'parked');
  const isParked = ({ id }: StoredOrder): boolean =>
    timeouts.some(({ key, state }) => key === id && state === 'parked');
  const open = orders.filter(({ status, autoClose }) => ['PENDING', 'CLOSING'].includes(status) && autoClose);
  return [
    ...pending.map(({ kind, key, state }) => `${kind} ${key} is still ${state}`),
    ...open.filter((order) => !isParked(order)).map(({ id, status }) => `${id} is still ${status}`),
  ];
}

async function recordProblems(kernel: Kernel, stage: Stage, orders: readonly StoredOrder[]): Promise<string[]> {
  const history = await kernel.query<HistoryFact & { readonly orderId: string }>(`
    SELECT order_id AS "orderId", version, from_status AS "from", to_status AS "to" FROM order_timeout.order_history
     ORDER BY order_id, version`);
  const reservations = await kernel.query<ReservationFact & { readonly orderId: string }>(
    'SELECT order_id AS "orderId", sku, qty AS quantity, state FROM order_timeout.reservation',
  );
  const levels = await kernel.query<StockLevel>(
    'SELECT sku, on_hand AS "onHand", reserved FROM order_timeout.inventory',
  );
  const placed = orders.map(({ id, status, version }) => {
    const lines = stage.lines.get(id) ?? [];
    return { id, version, lines, status: freed(status) };
  });
  const of = <T extends { readonly orderId: string }>(id: string, rows: readonly T[]): T[] =>
    rows.filter(({ orderId }) => orderId === id);
  return [
    ...placed.flatMap(({ id, version }) => historyProblems(id, version, of(id, history))),
    ...placed.flatMap(({ id, ...order }) => reservationProblems(id, order, of(id, reservations))),
    ...stockProblems(levels, () => STOCK, placed),
  ];
}

/** The goods of an order are free as soon as its money is on the way back. */
function freed(status: string): string {
  return status === 'REFUNDING' ? 'CLOSED_REFUNDED' : status;
}

async function ledgerProblems(kernel: Kernel, bank: Bank): Promise<string[]> {
  const claims = await kernel.query<ClaimFact>(`
    SELECT a.order_id AS "orderId", o.amount::text AS "orderAmount", a.provider, a.reference,
           (a.paid_amount - a.refunded_amount)::text AS amount, coalesce(a.transaction_id, '') AS "transactionId",
           coalesce(a.resolved_account, a.merchant_account) AS "merchantAccount"
      FROM order_timeout.payment_attempt a JOIN order_timeout.orders o ON o.id = a.order_id
     WHERE a.status = 'PAID' AND o.status = 'PAID'`);
  const openRows = await kernel.query<OpenRowFact>(OPEN_ROWS);
  const ledger = bank.payments.map(({ reference, transactionId, amount, refunded }) => {
    const money = { paidAmount: String(amount), refundedAmount: String(refunded) };
    return { provider: bank.name, reference, merchantAccount: null, transactionId, ...money } as LedgerEntry;
  });
  const erased = await kernel.query<{ id: string }>('SELECT id FROM order_timeout.orders WHERE erased_at IS NOT NULL');
  const problems = moneyProblems({ ledger, claims, openRows });
  // No table says any more which payments such an order had. References begin with the order.
  return problems.filter((says) => !erased.some(({ id }) => says.includes(` ${id}-`) && says.endsWith('nobody knows')));
}

/**
 * What a person can see: rows that wait, the money of parked orders and refunds, and that of orders which nobody closes
 * automatically.
 */
const OPEN_ROWS = `
  SELECT provider, reference, merchant_account AS "merchantAccount", reason,
         coalesce(evidence->>'transactionId', '') AS "transactionId"
    FROM order_timeout.unmatched_payment WHERE handling IN ('kept', 'waiting')
  UNION ALL
  SELECT a.provider, a.reference, a.merchant_account, 'parked', coalesce(a.transaction_id, '')
    FROM order_timeout.payment_attempt a JOIN order_timeout.timeout t ON t.key = a.order_id AND t.state = 'parked'
  UNION ALL
  SELECT r.provider, r.reference, r.merchant_account, 'parked', ''
    FROM order_timeout.refund r JOIN order_timeout.timeout t ON t.key = r.number AND t.state = 'parked'
  UNION ALL
  SELECT a.provider, a.reference, a.merchant_account, 'pending', coalesce(a.transaction_id, '')
    FROM order_timeout.payment_attempt a JOIN order_timeout.orders o ON o.id = a.order_id
   WHERE o.status = 'PENDING' AND NOT o.auto_close`;
