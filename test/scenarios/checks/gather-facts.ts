import { groupByOrder, type Records } from '../../support/checks/records';
import { type Placed } from '../playing/placed-order';
import { type Stage } from '../stage/open-stage';
import {
  type AttemptFact,
  type OrderFacts,
  type UnmatchedFact,
  type RefundFact,
  type TimeoutFact,
} from './order-facts';

const SCHEMA = 'order_timeout';

/** Asks everybody who knows something: the database, the provider, and the subscriber of events. */
export async function gatherFacts(stage: Stage, orders: readonly Placed[]): Promise<OrderFacts[]> {
  const { records, simulator, listener } = stage;
  const stored = await records.orderRecords();
  const attempts = groupByOrder(await readAttempts(records));
  const refunds = groupByOrder(await readRefunds(records));
  const unmatched = await readUnmatched(records);
  const timeouts = await readTimeouts(records);
  const ledger = await simulator.ledger();
  const events = groupByOrder(listener.facts());
  return orders.map((order) => {
    const numbers = new Set((refunds.get(order.id) ?? []).map(({ number }) => number));
    return {
      ...{ order, stored: stored.get(order.id), history: stored.get(order.id)?.history ?? [] },
      ...{ reservations: stored.get(order.id)?.reservations ?? [], attempts: attempts.get(order.id) ?? [] },
      ...{ refunds: refunds.get(order.id) ?? [], events: events.get(order.id) ?? [] },
      unmatched: unmatched.filter((one) => one.orderId === order.id || isOfStory(order, one)),
      timeouts: timeouts.filter(({ key }) => key === order.id || numbers.has(key)),
      ledger: ledger.filter(({ orderId }) => orderId === order.id),
      foreign: ledger.filter((entry) => entry.orderId === null && isOfStory(order, entry)),
    };
  });
}

/** Two merchants may use the same reference. */
function isOfStory(
  { payments }: Placed,
  told: Pick<UnmatchedFact, 'provider' | 'reference'> & { readonly merchantAccount: string | null },
): boolean {
  return payments.some(
    ({ provider, reference, ownerAccount }) =>
      provider === told.provider && reference === told.reference && ownerAccount === told.merchantAccount,
  );
}

export function readTimeouts(records: Records): Promise<TimeoutFact[]> {
  return read(records, `SELECT kind, key, state, attempts, last_error AS "lastError" FROM ${SCHEMA}.timeout`);
}

function readAttempts(records: Records): Promise<AttemptFact[]> {
  return read(
    records,
    `SELECT order_id AS "orderId", provider, reference, status, paid_amount AS "paidAmount",
            paid_currency AS "paidCurrency" FROM ${SCHEMA}.payment_attempt`,
  );
}

function readRefunds(records: Records): Promise<RefundFact[]> {
  return read(
    records,
    `SELECT order_id AS "orderId", number, provider, reference, amount, status FROM ${SCHEMA}.refund`,
  );
}

function readUnmatched(records: Records): Promise<UnmatchedFact[]> {
  return read(
    records,
    `SELECT order_id AS "orderId", provider, merchant_account AS "merchantAccount", reference, reason, handling
       FROM ${SCHEMA}.unmatched_payment`,
  );
}

function read<T>(records: Records, sql: string): Promise<T[]> {
  return records.execute(sql) as Promise<T[]>;
}
