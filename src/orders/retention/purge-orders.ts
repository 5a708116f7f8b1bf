import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { Database, statements, storableText } from '../../database';
import { Inventory, holdsStock } from '../../inventory';
import { unsentEvents } from '../../outbox';
import { payloadsOf, timeoutExists } from '../../timeouts';
import { OrderListeners } from '../listeners/order-listeners';
import { ERASED_PREFIX, type OrderStatus, type LockedOrder, type OrderView } from '../model/order';
import { erasing } from '../sql/personal-data';
import { rememberBookedSql } from '../sql/handled-payments';
import { type Actor, type OperatorOptions } from '../model/transition';
import {
  PAYMENT_RECONCILIATION,
  PAYMENT_REFUND,
  ORDER_LATE_WATCH,
  ORDER_REMINDER,
  ORDER_PAYMENT,
} from '../model/order-timeouts';
import { isSettled } from '../model/unmatched-money';
import { OrderTransaction } from '../sql/order-transaction';

/** Statuses of finished orders. They are kept while they have open items. */
export const FINISHED_STATUSES = [
  'CLOSED',
  'CANCELLED',
  'PAID',
  'CLOSED_REFUNDED',
] as const satisfies readonly OrderStatus[];

interface PageRow {
  readonly last: string | null;
  readonly examined: number;
  readonly due: string[];
}

/** In the order of their references. The history comes last: its trigger allows deletions only without an order. */
const TABLES = [
  { table: 'refund', key: 'order_id' },
  { table: 'payment_attempt', key: 'order_id' },
  { table: 'order_line', key: 'order_id' },
  { table: 'orders', key: 'id' },
  { table: 'order_history', key: 'order_id' },
] as const;

/** Deletes orders that finished long ago, with lines, attempts, refunds, reservations, and history. */
export class PurgeOrders implements PurgeStep {
  readonly kind = 'orders';
  readonly beginning = [''];

  constructor(
    private readonly database: Database,
    private readonly inventory: Inventory,
    private readonly listeners: Pick<OrderListeners, 'kinds'>,
    private readonly keepMs: number,
  ) {}

  async purgePage(after: readonly string[]): Promise<PurgedPage> {
    const { due, ...rest } = await this.readPage(after);
    if (due.length === 0) return { purged: 0, ...rest };
    // A user who may not delete rows can still run the service.
    const purged = await this.database.transaction((tx) => this.purge(tx, due), { isAside: true });
    return { purged, ...rest };
  }

  async countPage(after: readonly string[]): Promise<PurgedPage> {
    const { due, ...rest } = await this.readPage(after);
    return { purged: due.length, ...rest };
  }

  private async readPage([after]: readonly string[]): Promise<{ due: readonly string[]; next?: readonly string[] }> {
    const [page] = await this.database.query<PageRow[]>(purgeSql(this.database).page, [after, this.keepMs]);
    const { last = null, examined = 0, due = [] } = page ?? {};
    return { due, ...(last !== null && examined === PAGE_SIZE ? { next: [last] } : {}) };
  }

  /** Reads open items in a separate statement after the lock, because an older snapshot could miss a new item. */
  private async purge(tx: EntityManager, due: readonly string[]): Promise<number> {
    const sql = purgeSql(this.database);
    const rows = await tx.query<{ id: string }[]>(sql.lock, [due, this.keepMs]);
    const locked = rows.map(({ id }) => id);
    const open = await openItemsOf(tx, this.database, locked, this.listeners);
    const ids = locked.filter((id) => open.get(id)?.length === 0);
    if (ids.length === 0) return 0;
    await this.inventory.forget(tx, ids);
    for (const statement of [sql.remember, ...sql.delete]) await tx.query(statement, [ids]);
    return ids.length;
  }
}

const purgeSql = statements((schema) => {
  const finished = FINISHED_STATUSES.map((status) => `'${status}'`).join(', ');
  const isDue = `o.status IN (${finished}) AND o.updated_at < now() - $2 * interval '1 millisecond'`;
  return {
    page: `
      WITH page AS MATERIALIZED (
        SELECT o.id, ${isDue} AS is_due FROM ${schema}.orders o WHERE o.id > $1 ORDER BY o.id LIMIT ${PAGE_SIZE})
      SELECT max(id) AS last, count(*)::int AS examined, ARRAY(SELECT id FROM page WHERE is_due) AS due FROM page`,
    lock: `
      SELECT o.id FROM ${schema}.orders o WHERE o.id = ANY($1::text[]) AND ${isDue} ORDER BY o.id
         FOR UPDATE SKIP LOCKED`,
    remember: rememberBookedSql(schema, `a.reference NOT LIKE '${ERASED_PREFIX}%'`),
    delete: TABLES.map(({ table, key }) => `DELETE FROM ${schema}.${table} WHERE ${key} = ANY($1::text[])`),
  };
});

const eraseSql = statements((schema) => {
  const isOpenName = `reference NOT LIKE '${ERASED_PREFIX}%'`;
  return {
    isErased: `
      SELECT o.erased_at IS NOT NULL
             AND NOT EXISTS (SELECT 1 FROM ${schema}.payment_attempt WHERE order_id = o.id AND ${isOpenName})
             AND NOT EXISTS (SELECT 1 FROM ${schema}.unmatched_payment WHERE order_id = o.id AND ${isOpenName}) AS "isErased"
        FROM ${schema}.orders o WHERE o.id = $1`,
    // updated_at stays, because retention depends on it.
    mark: `
      WITH erased AS (
        UPDATE ${schema}.orders SET ${erasing('orders')}, erased_at = now(), version = version + 1
         WHERE id = $1 AND version = $2 RETURNING id, version, status)
      INSERT INTO ${schema}.order_history (order_id, version, from_status, to_status, cause, actor, reason, evidence, traceparent)
      SELECT id, version, status, status, 'operator', $3, $4, '{"erased": true}', $5 FROM erased RETURNING version`,
    history: `
      UPDATE ${schema}.order_history SET ${erasing('order_history')}
       WHERE order_id = $1 AND (evidence->>'erased') IS DISTINCT FROM 'true'`,
    remember: rememberBookedSql(schema, `a.${isOpenName}`),
    references: referencesSql(schema, isOpenName),
    keys: `
      DELETE FROM ${schema}.idempotency_key k USING ${schema}.orders o
       WHERE o.id = $1 AND k.scope = 'place:' || o.merchant_id AND k.response->>'orderId' = o.id`,
  };
});

/** One statement: attempt and refund refer to each other by what changes, and constraints are checked at its end. */
function referencesSql(schema: string, isOpenName: string): string {
  const isNamed = (row: string): string =>
    `${row}.provider = n.provider AND ${row}.reference = n.reference AND ${row}.merchant_account = n.merchant_account`;
  const key = 'provider, reference, merchant_account';
  return `
    WITH own AS MATERIALIZED (
      SELECT ${key} FROM ${schema}.payment_attempt WHERE order_id = $1 AND ${isOpenName}),
    named AS MATERIALIZED (
      SELECT ${key}, '${ERASED_PREFIX}' || gen_random_uuid() AS pseudonym FROM (
        SELECT ${key} FROM own
        UNION SELECT ${key} FROM ${schema}.unmatched_payment WHERE order_id = $1 AND ${isOpenName}) AS known),
    attempts AS (
      UPDATE ${schema}.payment_attempt a SET ${erasing('payment_attempt')}
        FROM named n WHERE ${isNamed('a')} AND a.order_id = $1),
    refunds AS (
      UPDATE ${schema}.refund r SET ${erasing('refund')}
        FROM named n WHERE ${isNamed('r')} AND r.order_id = $1)
    UPDATE ${schema}.unmatched_payment p SET ${erasing('unmatched_payment')}
      FROM named n WHERE ${isNamed('p')}
       AND (p.order_id = $1 OR EXISTS (SELECT 1 FROM own n WHERE ${isNamed('p')}))`;
}

/**
 * Why an order cannot be deleted or erased yet.
 * - `timeout`: a timeout is pending or parked.
 * - `refund`: a refund is in progress.
 * - `attempt`: an attempt could take money.
 * - `unmatched-money`: money waits for its deadline or a person.
 * - `reservation`: a reservation holds stock.
 * - `event`: an event is not sent, or a listener or webhook has not got it.
 */
export type OpenItem = 'timeout' | 'refund' | 'attempt' | 'unmatched-money' | 'reservation' | 'event';

/**
 * Returns the open items of each order, or an empty list. Call it after locking the orders, because every transaction that
 * opens an item holds that lock.
 *
 * @param listeners the kinds of timeouts whose payload is an event of the order.
 */
export async function openItemsOf(
  tx: EntityManager,
  database: Pick<Database, 'schema'>,
  ids: readonly string[],
  { kinds }: Pick<OrderListeners, 'kinds'>,
): Promise<ReadonlyMap<string, readonly OpenItem[]>> {
  const rows = await tx.query<{ id: string; open: OpenItem[] }[]>(openSql(database), [ids, kinds]);
  return new Map(rows.map(({ id, open }) => [id, open]));
}

// Scalar subqueries instead of EXISTS, so that each uses an index regardless of the planner's estimates.
const openSql = statements(
  (schema) => `
      SELECT o.id, array_remove(ARRAY[${openItems(schema).join(', ')}], NULL) AS open
        FROM ${schema}.orders o WHERE o.id = ANY($1::text[])`,
);

function openItems(schema: string): string[] {
  const when = (item: OpenItem, condition: string): string => `CASE WHEN ${condition} THEN '${item}' END`;
  return [
    when('timeout', [...timeoutsOf(schema)].join(' OR ')),
    when('refund', `(SELECT true FROM ${schema}.refund r WHERE r.order_id = o.id AND r.status <> 'REFUNDED' LIMIT 1)`),
    when(
      'attempt',
      `(SELECT true FROM ${schema}.payment_attempt a
         WHERE a.order_id = o.id AND a.status NOT IN ('PAID', 'CLOSED', 'REFUNDED', 'DUPLICATE', 'SETTLED') LIMIT 1)`,
    ),
    when('unmatched-money', unmatchedMoney(schema)),
    when('reservation', holdsStock(schema, 'o.id')),
    when('event', `o.id IN (${unsentEvents(schema)}) OR o.id IN (${payloadsOf(schema, '$2::text[]', 'orderId')})`),
  ];
}

function timeoutsOf(schema: string): string[] {
  return [
    timeoutExists(schema, `'${ORDER_PAYMENT}'`, 'o.id'),
    timeoutExists(schema, `'${ORDER_LATE_WATCH}'`, 'o.id'),
    timeoutExists(schema, `'${PAYMENT_RECONCILIATION}'`, 'o.id'),
    `(SELECT true FROM unnest(o.reminder_offsets_ms) AS ms
       WHERE ${timeoutExists(schema, `'${ORDER_REMINDER}'`, `o.id || ':' || ms`)} LIMIT 1)`,
    `(SELECT true FROM ${schema}.refund r
       WHERE r.order_id = o.id AND ${timeoutExists(schema, `'${PAYMENT_REFUND}'`, 'r.number')} LIMIT 1)`,
  ];
}

function unmatchedMoney(schema: string): string {
  const money = `${schema}.unmatched_payment p`;
  return `(SELECT true FROM ${money} WHERE p.order_id = o.id AND NOT ${isSettled(schema, 'p')} LIMIT 1)
          OR (SELECT true FROM ${schema}.payment_attempt a, LATERAL (
                SELECT 1 FROM ${money} WHERE p.provider = a.provider AND p.reference = a.reference
                   AND p.merchant_account IN (a.merchant_account, a.resolved_account)
                   AND NOT ${isSettled(schema, 'p')} OFFSET 0) open
               WHERE a.order_id = o.id LIMIT 1)`;
}

/** The kinds of data that can be purged. */
export type PurgedKind = 'orders' | 'idempotencyKeys' | 'settledMoney';

/** One page of a walk through a table in key order. */
export interface PurgedPage {
  /** Number of deleted rows. An order with all of its rows counts as one. */
  readonly purged: number;
  readonly next?: readonly string[];
}

/**
 * Purges one kind, page by page, in primary key order. An index by age would cost every insert of an order 2 to 5 %, or
 * every close its in-place update, even where nothing is ever purged.
 */
export interface PurgeStep {
  readonly kind: PurgedKind;
  /** A key before the first row. */
  readonly beginning: readonly string[];
  /** Reads the rows after this key and deletes those that are due, in one short transaction. */
  purgePage(after: readonly string[]): Promise<PurgedPage>;
  /** Counts the rows of the same page that are old enough, without deleting them. Open items may keep some of them. */
  countPage(after: readonly string[]): Promise<PurgedPage>;
}

/** The most rows that one page reads, and that one transaction deletes. */
export const PAGE_SIZE = 500;

/** `already-erased`: there was nothing left to erase, and nothing was written. */
export type ErasePersonalDataResult =
  | { readonly outcome: 'erased' | 'already-erased'; readonly order: OrderView }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FOUND' }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FINISHED'; readonly status: OrderStatus }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_HAS_OPEN_ITEMS'; readonly open: readonly OpenItem[] };

/** Which order, and why. The reason stays in the history, so it must not name the person. */
export interface ErasureRequest {
  readonly orderId: string;
  readonly reason: string;
}

/**
 * Removes everything that may identify the buyer from a finished order. The accounts stay complete. Metadata, evidence,
 * transaction ids, texts, and idempotency keys are removed. Merchant references become pseudonyms, the same for an
 * attempt, its refund, and its unmatched money. Amounts, currencies, statuses, versions, times, lines, and merchant
 * accounts stay.
 */
@Injectable()
export class ErasePersonalData {
  constructor(
    private readonly transaction: OrderTransaction,
    private readonly listeners: OrderListeners,
  ) {}

  /** Idempotent. The history gets an entry with the cause `operator`, the actor, and the reason. */
  execute(request: ErasureRequest, { by = {}, tx: caller }: OperatorOptions = {}): Promise<ErasePersonalDataResult> {
    return this.transaction.database.run(caller, async (tx) => {
      // Does not adopt money that arrived before its order, unlike other actions: such money is an open item, and the
      // erasure is rejected.
      const { orders } = await this.transaction.store.lock(tx, [request.orderId], 'wait');
      const order = orders.get(request.orderId);
      if (!order) return { outcome: 'rejected', code: 'ORDER_NOT_FOUND' };
      return this.decide(tx, order, request.reason, by);
    });
  }

  private async decide(
    tx: EntityManager,
    order: LockedOrder,
    reason: string,
    by: Actor,
  ): Promise<ErasePersonalDataResult> {
    const { id, status } = order;
    const { database } = this.transaction;
    if (!(FINISHED_STATUSES as readonly OrderStatus[]).includes(status))
      return { outcome: 'rejected', code: 'ORDER_NOT_FINISHED', status };
    const open = (await openItemsOf(tx, database, [id], this.listeners)).get(id) ?? [];
    if (open.length > 0) return { outcome: 'rejected', code: 'ORDER_HAS_OPEN_ITEMS', open };
    const [row] = await tx.query<{ isErased: boolean }[]>(eraseSql(database).isErased, [id]);
    if (!row?.isErased) await this.erase(tx, order, reason, by);
    return { outcome: row?.isErased ? 'already-erased' : 'erased', order: await this.transaction.view(tx, id) };
  }

  private async erase(tx: EntityManager, { id, version }: LockedOrder, reason: string, by: Actor): Promise<void> {
    const sql = eraseSql(this.transaction.database);
    const why = [by.actor ?? null, storableText(reason), by.traceparent ?? null];
    // First, because the history lets nothing be removed while its order is not marked.
    const marked = await tx.query<unknown[]>(sql.mark, [id, version, ...why]);
    if (marked.length === 0) throw new Error(`order ${id} changed under its lock`);
    // Before the names go, or a repeated notification would look like another payment.
    await tx.query(sql.remember, [[id]]);
    for (const statement of [sql.history, sql.references, sql.keys]) await tx.query(statement, [id]);
  }
}
