import { type EntityManager } from 'typeorm';
import { BOOKED_STATUSES } from '../attempt-status';
import { type PaymentAttempt, type PaymentNames } from '../payment-attempt';
import {
  type HandledPayment,
  type HandledRow,
  handledSql,
  NAMED,
  namesParameters,
  toHandled,
} from './handled-payments';
import { toUnowned, UNOWNED_COLUMNS, type UnownedMoney, type UnownedRow } from './lock-orders';
import { ATTEMPT_COLUMNS, type AttemptRow, toAttempt } from './order-row';

/** Everything that is known about payments under any of their names. */
export interface SamePayments {
  readonly attempts: readonly PaymentAttempt[];
  /** The same payments as money that a provider has confirmed and no order has. */
  readonly unowned: readonly UnownedMoney[];
  /** What is left of those that a person has settled, or whose order was erased or purged. */
  readonly handled: readonly HandledPayment[];
}

interface Row {
  readonly attempts: AttemptRow[] | null;
  readonly unowned: UnownedRow[] | null;
  readonly handled: HandledRow[] | null;
}

/**
 * Finds the same payments under any name: attempts that have these keys, hold the money under its other name, or are
 * registered under it, and money that no order has.
 */
export class FindSamePayments {
  private readonly sql: string;
  private readonly lockSql: string;

  constructor(schema: string) {
    // An account that is not known may be any. The caller compares further, because it knows the defaults.
    const account = `COALESCE(a.resolved_account, a.merchant_account)`;
    const columns = `a.provider = n.provider AND (n.account = '' OR ${account} IN ('', n.account))`;
    const isBooked = `a.status IN (${BOOKED_STATUSES.map((status) => `'${status}'`).join(', ')})`;
    const attempts = `${schema}.payment_attempt a WHERE ${columns}`;
    const unowned = `${schema}.unmatched_payment p
           WHERE p.provider = n.provider AND (n.account = '' OR p.merchant_account IN ('', n.account))
                 AND p.source = 'provider' AND p.reason = 'unknown-order' AND p.handling = 'kept'`;
    // All in one order, and counted, because some libraries cannot read the type void.
    this.lockSql = `
      SELECT count(pg_advisory_xact_lock(key))::int AS count FROM (
        SELECT DISTINCT hashtextextended(concat_ws(chr(10), '${schema}', n.provider, name), 0) AS key
          FROM ${NAMED}, unnest(ARRAY[n.reference, n.transaction]) name WHERE name IS NOT NULL ORDER BY 1 OFFSET 0) k`;
    // One index look-up for each way in which two names can match. OFFSET 0 keeps the planner from joining tables.
    this.sql = `
      SELECT (SELECT json_agg(DISTINCT to_jsonb(found)) FROM (
        SELECT x.* FROM ${NAMED}, LATERAL (
          SELECT ${ATTEMPT_COLUMNS} FROM ${attempts} AND a.reference = n.reference
          UNION ALL
          SELECT ${ATTEMPT_COLUMNS} FROM ${attempts} AND a.reference = n.transaction AND (${isBooked} OR a.registered)
          UNION ALL
          SELECT ${ATTEMPT_COLUMNS} FROM ${attempts} AND a.transaction_id = n.reference AND ${isBooked}
          UNION ALL
          SELECT ${ATTEMPT_COLUMNS} FROM ${attempts} AND a.transaction_id = n.transaction AND ${isBooked}
          OFFSET 0) x) found) AS attempts, (
        SELECT json_agg(DISTINCT to_jsonb(p)) FROM ${NAMED}, LATERAL (
          SELECT ${UNOWNED_COLUMNS} FROM ${unowned} AND p.reference IN (n.reference, n.transaction)
          UNION ALL
          SELECT ${UNOWNED_COLUMNS} FROM ${unowned} AND p.evidence->>'transactionId' = n.reference
          UNION ALL
          SELECT ${UNOWNED_COLUMNS} FROM ${unowned} AND p.evidence->>'transactionId' = n.transaction OFFSET 0) p) AS unowned,
        (${handledSql(schema)}) AS handled`;
  }

  /**
   * Until the end of this transaction, no other one books a payment that has one of these names: two that book it for
   * different orders do not see each other. In a statement of its own, so that the next one sees what was committed.
   */
  async lock(tx: EntityManager, names: readonly PaymentNames[]): Promise<void> {
    await tx.query(this.lockSql, namesParameters(names));
  }

  async execute(tx: Pick<EntityManager, 'query'>, names: readonly PaymentNames[]): Promise<SamePayments> {
    const [row] = await tx.query<Row[]>(this.sql, namesParameters(names));
    return {
      attempts: (row?.attempts ?? []).map(toAttempt),
      unowned: (row?.unowned ?? []).map(toUnowned),
      handled: (row?.handled ?? []).map(toHandled),
    };
  }
}
