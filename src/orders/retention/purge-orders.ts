import { type DataSource, type EntityManager } from 'typeorm';
import { ownQuery, ownTransaction } from '../../database';
import { type Inventory } from '../../inventory';
import { type OrderListeners } from '../listeners/order-listeners';
import { type OrderStatus } from '../order-status';
import { rememberBookedSql } from '../sql/handled-payments';
import { ERASED } from './erase-rows';
import { OpenItems } from './open-items';
import { PAGE_SIZE, type PurgedPage, type PurgeStep } from './purge-step';

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

/**
 * In the order of the references between rows. The history comes last, because its trigger allows deletions only
 * without an order.
 */
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
  private readonly openItems: OpenItems;
  private readonly pageSql: string;
  private readonly lockSql: string;
  private readonly rememberSql: string;
  private readonly deleteSql: readonly string[];

  constructor(
    private readonly dataSource: DataSource,
    schema: string,
    private readonly inventory: Inventory,
    private readonly keepMs: number,
    listeners: Pick<OrderListeners, 'kinds'>,
  ) {
    this.openItems = new OpenItems(schema, () => listeners.kinds);
    const finished = FINISHED_STATUSES.map((status) => `'${status}'`).join(', ');
    const isDue = `o.status IN (${finished}) AND o.updated_at < now() - $2 * interval '1 millisecond'`;
    this.pageSql = `
      WITH page AS MATERIALIZED (
        SELECT o.id, ${isDue} AS is_due FROM ${schema}.orders o WHERE o.id > $1 ORDER BY o.id LIMIT ${PAGE_SIZE})
      SELECT max(id) AS last, count(*)::int AS examined, ARRAY(SELECT id FROM page WHERE is_due) AS due FROM page`;
    this.lockSql = `
      SELECT o.id FROM ${schema}.orders o WHERE o.id = ANY($1::text[]) AND ${isDue} ORDER BY o.id
         FOR UPDATE SKIP LOCKED`;
    this.rememberSql = rememberBookedSql(schema, `a.reference NOT LIKE '${ERASED}%'`);
    this.deleteSql = TABLES.map(({ table, key }) => `DELETE FROM ${schema}.${table} WHERE ${key} = ANY($1::text[])`);
  }

  async purgePage(after: readonly string[]): Promise<PurgedPage> {
    const { due, ...rest } = await this.readPage(after);
    const purged = due.length === 0 ? 0 : await this.purgeDue(due);
    return { purged, ...rest };
  }

  /** A user who may not delete rows can still run the service. */
  private purgeDue(due: readonly string[]): Promise<number> {
    return ownTransaction(this.dataSource, (tx) => this.purge(tx, due), { isAside: true });
  }

  async countPage(after: readonly string[]): Promise<PurgedPage> {
    const { due, ...rest } = await this.readPage(after);
    return { purged: due.length, ...rest };
  }

  private async readPage([after]: readonly string[]): Promise<{ due: readonly string[]; next?: readonly string[] }> {
    const [page] = await ownQuery<PageRow[]>(this.dataSource, this.pageSql, [after, this.keepMs]);
    const { last = null, examined = 0, due = [] } = page ?? {};
    return { due, ...(last !== null && examined === PAGE_SIZE ? { next: [last] } : {}) };
  }

  /** Reads open items in a separate statement after the lock, because an older snapshot could miss a new item. */
  private async purge(tx: EntityManager, due: readonly string[]): Promise<number> {
    const locked = await tx.query<{ id: string }[]>(this.lockSql, [due, this.keepMs]);
    const open = await this.openItems.execute(
      tx,
      locked.map(({ id }) => id),
    );
    const ids = locked.map(({ id }) => id).filter((id) => open.get(id)?.length === 0);
    if (ids.length === 0) return 0;
    await this.inventory.forget(tx, ids);
    for (const sql of [this.rememberSql, ...this.deleteSql]) await tx.query(sql, [ids]);
    return ids.length;
  }
}
