import { type DataSource } from 'typeorm';
import { ownTransaction } from '../../database';
import { BY_INDEX } from '../sql/find-orders';

/** Numbers about the newest orders. */
export interface OrderSummary {
  readonly pending: number;
  readonly closing: number;
  /** Of the orders placed in the last 24 hours, those that are PAID. */
  readonly paid24h: number;
  /** Of the orders placed in the last 24 hours, those that are CLOSED. */
  readonly closed24h: number;
  /** There are older orders that were not counted, so each number may be too small. */
  readonly isPartial: boolean;
  /** PENDING orders by the minute of their deadline, from now on. */
  readonly dueByMinute: ReadonlyMap<number, number>;
  /** PENDING and CLOSING orders whose deadline has passed. */
  readonly overdue: number;
}

interface Row extends Omit<OrderSummary, 'isPartial' | 'dueByMinute'> {
  readonly scanned: number;
  readonly minutes: Readonly<Record<string, number>> | null;
}

/** Orders that are counted at most. They take about 50 ms. */
const SCAN = 50_000;
const MINUTES = 60;

/**
 * Counts the newest orders by status. An index with the status would make each transition of an order more expensive, so the
 * orders are read in the order of their creation, up to a limit.
 */
export class SummarizeOrders {
  constructor(
    private readonly dataSource: DataSource,
    private readonly schema: string,
  ) {}

  /** @param merchants only their orders. Undefined: all. */
  async execute(merchants: readonly string[] | undefined): Promise<OrderSummary> {
    const values = merchants === undefined ? [] : [merchants];
    const rows = await ownTransaction(this.dataSource, async (tx) => {
      await tx.query(BY_INDEX);
      return tx.query<Row[]>(this.sql(merchants?.length), values);
    });
    const [row] = rows;
    if (!row) throw new Error('an aggregate without a row');
    const { scanned, minutes, ...counts } = row;
    const dueByMinute = new Map(Object.entries(minutes ?? {}).map(([minute, count]) => [Number(minute), count]));
    return { ...counts, dueByMinute, isPartial: scanned >= SCAN };
  }

  /** @internal For tests: the statement. @param merchants how many there are. */
  sql(merchants: number | undefined): string {
    const isOpen = `status = 'PENDING' AND auto_close`;
    const isRecent = `created_at >= now() - interval '24 hours'`;
    return `
      WITH newest AS MATERIALIZED (${this.newest(merchants)})
      SELECT count(*)::int AS scanned,
             (count(*) FILTER (WHERE status = 'PENDING'))::int AS pending,
             (count(*) FILTER (WHERE status = 'CLOSING'))::int AS closing,
             (count(*) FILTER (WHERE status = 'PAID' AND ${isRecent}))::int AS "paid24h",
             (count(*) FILTER (WHERE status = 'CLOSED' AND ${isRecent}))::int AS "closed24h",
             (count(*) FILTER (WHERE (${isOpen} OR status = 'CLOSING') AND expires_at <= now()))::int AS overdue,
             (SELECT json_object_agg(minute, orders) FROM (
                SELECT floor(extract(epoch FROM expires_at - now()) / 60)::int AS minute, count(*) AS orders
                  FROM newest
                 WHERE ${isOpen} AND expires_at > now() AND expires_at < now() + interval '${MINUTES} minutes'
                 GROUP BY 1) AS due) AS minutes
        FROM newest`;
  }

  private newest(merchants: number | undefined): string {
    const orders = `SELECT o.status, o.created_at, o.expires_at, o.auto_close FROM ${this.schema}.orders o`;
    const newestFirst = 'ORDER BY o.created_at DESC, o.id DESC LIMIT';
    if (merchants === undefined) return `${orders} ${newestFirst} ${SCAN}`;
    // One index scan for each merchant.
    const share = Math.ceil(SCAN / Math.max(1, merchants));
    return `SELECT one.* FROM unnest($1::text[]) AS m(id), LATERAL (
              ${orders} WHERE o.merchant_id = m.id ${newestFirst} ${share}) one`;
  }
}
