import { type DataSource } from 'typeorm';
import { ownQuery } from '../../database';
import { reservedOrderIds } from '../../inventory';
import { CALL_LIMIT } from '../../payments';
import { timeoutExists, undecidedTimeouts, type TimeoutScope } from '../../timeouts';
import {
  PAYMENT_RECONCILIATION,
  PAYMENT_REFUND,
  ORDER_LATE_WATCH,
  ORDER_REMINDER,
  ORDER_PAYMENT,
} from '../model/order-timeouts';

interface Incomplete {
  readonly count: number;
  readonly ids: readonly string[];
}

/** What one transaction writes together, and of which only a part is there. */
interface Pieces {
  /** Orders that nothing will close. */
  readonly withoutTimeout: Incomplete;
  readonly withoutOrder: Incomplete;
  /** Refunds that nobody asks for. */
  readonly refunds: Incomplete;
}

const COUNT = `SELECT count(*)::int AS count, COALESCE((array_agg(id ORDER BY id))[1:3], '{}') AS ids`;

/** Reads every undecided order and every reservation: some seconds per million. */
export async function findPieces(dataSource: DataSource, schema: string): Promise<Pieces> {
  const [withoutTimeout] = await ownQuery<[Incomplete]>(
    dataSource,
    `${COUNT} FROM ${schema}.orders o
      WHERE o.status IN ('PENDING', 'CLOSING') AND (o.auto_close OR o.status = 'CLOSING')
        AND NOT ${timeoutExists(schema, `'${ORDER_PAYMENT}'`, 'o.id')}`,
  );
  const [withoutOrder] = await ownQuery<[Incomplete]>(
    dataSource,
    `${COUNT} FROM (SELECT order_id AS id FROM (${reservedOrderIds(schema)}) r) held
      WHERE NOT EXISTS (SELECT 1 FROM ${schema}.orders o
                         WHERE o.id = held.id AND o.status NOT IN ('CLOSED', 'CANCELLED', 'CLOSED_REFUNDED'))`,
  );
  const [refunds] = await ownQuery<[Incomplete]>(
    dataSource,
    `${COUNT} FROM (SELECT number AS id FROM ${schema}.refund WHERE status = 'PENDING') r
      WHERE NOT ${timeoutExists(schema, `'${PAYMENT_REFUND}'`, 'r.id')}`,
  );
  return { withoutTimeout, withoutOrder, refunds };
}

interface Waiting {
  readonly count: number;
  /** Of the order that has waited for longest. */
  readonly seconds: number;
  readonly reason: string | null;
}

/** Orders that were due `seconds` ago or earlier. Undefined: there is none. */
export async function findUndecided(
  dataSource: DataSource,
  schema: string,
  seconds: number,
): Promise<(Waiting & { readonly orderId: string }) | undefined> {
  const [found] = await ownQuery<(Waiting & { orderId: string })[]>(
    dataSource,
    `SELECT (count(*) OVER ())::int AS count, t.key AS "orderId", t.last_error AS reason,
            extract(epoch FROM now() - t.due_at)::float8 AS seconds
       FROM ${undecidedTimeouts(schema, `'${ORDER_PAYMENT}'`)} t
      WHERE t.due_at <= now() - $1 * interval '1 second' ORDER BY t.due_at LIMIT 1`,
    [seconds],
  );
  return found;
}

/** Providers that have given no usable answer about an order for `seconds`, although nobody has paused them. By name. */
export function findFailingProviders(
  dataSource: DataSource,
  schema: string,
  seconds: number,
): Promise<(Waiting & { readonly provider: string })[]> {
  return ownQuery(
    dataSource,
    // The timeout has the last reason of one provider, and the evidence of an attempt the first one of its own. What a
    // provider itself says comes before our limit of calls, which an outage uses up as well.
    `SELECT a.provider, count(DISTINCT t.key)::int AS count,
            COALESCE(min(t.last_error) FILTER (WHERE starts_with(t.last_error, a.provider || ' ') AND t.last_error NOT LIKE '%' || $2),
                     min(t.last_error) FILTER (WHERE starts_with(t.last_error, a.provider || ' ')),
                     min(a.evidence ->> 'reason')) AS reason,
            max(extract(epoch FROM now() - t.asked_since))::float8 AS seconds
       FROM ${undecidedTimeouts(schema, `'${ORDER_PAYMENT}'`)} t
       JOIN ${schema}.payment_attempt a ON a.order_id = t.key AND a.status = 'UNKNOWN'
      WHERE t.asked_since >= t.due_at AND t.asked_since <= now() - $1 * interval '1 second' GROUP BY a.provider ORDER BY a.provider`,
    [seconds, CALL_LIMIT],
  );
}

/** Providers that may still be asked. A process that handles deadlines must know all of them, or parks their orders. */
export async function openAttemptProviders(dataSource: DataSource, schema: string): Promise<string[]> {
  const rows = await ownQuery<{ provider: string }[]>(
    dataSource,
    `SELECT DISTINCT a.provider FROM ${schema}.payment_attempt a
      WHERE a.status NOT IN ('PAID', 'CLOSED', 'REFUNDED', 'DUPLICATE', 'SETTLED')
         OR ${timeoutExists(schema, `'${ORDER_LATE_WATCH}'`, 'a.order_id')}
         OR ${timeoutExists(schema, `'${PAYMENT_RECONCILIATION}'`, 'a.order_id')}
      ORDER BY 1`,
  );
  return rows.map(({ provider }) => provider);
}

/** The timeouts that belong to orders of these merchants. A host's own kinds belong to no merchant. */
export function merchantTimeouts(schema: string, merchants: readonly string[]): TimeoutScope {
  return {
    values: merchants,
    condition: (row, values) => {
      const isOurs = (orderId: string): string =>
        `EXISTS (SELECT 1 FROM ${schema}.orders o WHERE o.id = ${orderId} AND o.merchant_id = ANY(${values}::text[]))`;
      // Order ids may contain colons. The last colon belongs to the reminder.
      const reminded = `regexp_replace(${row}.key, ':[^:]*$', '')`;
      const refunded = `(SELECT r.order_id FROM ${schema}.refund r WHERE r.number = ${row}.key)`;
      return `CASE ${row}.kind
                WHEN '${ORDER_PAYMENT}' THEN ${isOurs(`${row}.key`)}
                WHEN '${ORDER_LATE_WATCH}' THEN ${isOurs(`${row}.key`)}
                WHEN '${PAYMENT_RECONCILIATION}' THEN ${isOurs(`${row}.key`)}
                WHEN '${ORDER_REMINDER}' THEN ${isOurs(reminded)}
                WHEN '${PAYMENT_REFUND}' THEN ${isOurs(refunded)}
                ELSE false END`;
    },
  };
}
