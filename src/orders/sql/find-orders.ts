import { type EntityManager } from 'typeorm';
import { type Database } from '../../database';
import { type ScopedFilter, type OrderPosition } from '../model/order-filter';

interface PositionRow {
  readonly id: string;
  readonly created_at: Date;
}

export interface FoundOrders {
  readonly found: readonly OrderPosition[];
  /** Where this step ended before it had enough. Undefined: at the end of the list, or it has enough. */
  readonly scannedTo: OrderPosition | undefined;
}

/** Rows that one statement reads at most. They take 10 to 50 ms. */
const SCAN = 20_000;
/** Fewer when the history of each order is read, too. */
const TRACE_SCAN = 5_000;

/**
 * For the transaction of a search. A step reads a bounded number of rows only if it follows an index in its order; by
 * wrong or missing statistics, the planner would rather sort a whole table. What is off counts as very expensive, so
 * PostgreSQL would compile the statement first (JIT), which takes half a second.
 */
export const BY_INDEX = ['enable_seqscan', 'enable_bitmapscan', 'enable_sort', 'enable_hashjoin', 'jit']
  .map((setting) => `SET LOCAL ${setting} = off`)
  .join('; ');

/**
 * Finds at most `limit` orders behind `after`, newest first. An index gives the merchant and the time of creation, and the rest of the filter is checked
 * row by row, so a step is bounded: it may find fewer orders than wanted although there are more. The transaction must
 * have begun with `BY_INDEX`.
 */
export async function findOrders(
  tx: Pick<EntityManager, 'query'>,
  { schema }: Pick<Database, 'schema'>,
  filter: ScopedFilter,
  after: OrderPosition | undefined,
  limit: number,
): Promise<FoundOrders> {
  const scan = new Scan(schema, filter, after);
  const found = await tx.query<PositionRow[]>(scan.findSql(limit), scan.values);
  if (found.length >= limit || !scan.mayBeCut) return { found: found.map(toPosition), scannedTo: undefined };
  const [last] = await tx.query<PositionRow[]>(scan.lastSql, [...scan.sourceValues]);
  return { found: found.map(toPosition), scannedTo: last && toPosition(last) };
}

function toPosition({ id, created_at }: PositionRow): OrderPosition {
  return { id, createdAt: created_at };
}

const NEWEST_FIRST = 'ORDER BY s.created_at DESC, s.id DESC';

/** The statements for one filter. Only conditions that are wanted are in them, so that the planner can use the index. */
class Scan {
  readonly values: unknown[] = [];
  readonly sourceValues: readonly unknown[];
  private readonly source: string;
  private readonly checks: string;
  private readonly most: number;

  constructor(
    private readonly schema: string,
    filter: ScopedFilter,
    after: OrderPosition | undefined,
  ) {
    this.most = filter.trace === undefined ? SCAN : TRACE_SCAN;
    this.source = this.sourceOf(filter, after);
    this.sourceValues = [...this.values];
    this.checks = this.checksOf(filter).join(' AND ');
  }

  /** Whether rows that were read may be left out. Otherwise a short page is the last one. */
  get mayBeCut(): boolean {
    return this.checks !== '';
  }

  findSql(limit: number): string {
    const where = this.checks === '' ? '' : `WHERE ${this.checks}`;
    return `SELECT s.id, s.created_at FROM (${this.source}) s ${where} ${NEWEST_FIRST} LIMIT ${limit}`;
  }

  /** The last row that one step reads, if the step did not reach the end. */
  get lastSql(): string {
    return `SELECT s.id, s.created_at FROM (${this.source}) s ${NEWEST_FIRST} OFFSET ${this.most - 1} LIMIT 1`;
  }

  private value(value: unknown): string {
    return `$${this.values.push(value)}`;
  }

  private sourceOf(filter: ScopedFilter, after: OrderPosition | undefined): string {
    const merchants = merchantsOf(filter);
    const orders = this.ordersWith(filter);
    if (merchants?.length === 0) return this.branch(orders, ['false']);
    const common = this.rangeOf(filter, after);
    const branches = merchants?.map((id) => this.branch(orders, [`o.merchant_id = ${this.value(id)}`, ...common]));
    if (!branches) return this.branch(orders, common);
    const [only = '', ...others] = branches;
    if (others.length === 0) return only;
    // One index scan for each merchant, merged by PostgreSQL without a sort.
    const all = branches.map((branch) => `(${branch})`).join(' UNION ALL ');
    return `SELECT s.* FROM (${all}) s ${NEWEST_FIRST} LIMIT ${this.most}`;
  }

  /** A reference names few orders. Without OFFSET 0, the planner looks for them in all orders, newest first. */
  private ordersWith({ reference, provider }: ScopedFilter): string {
    const table = `${this.schema}.orders o`;
    if (reference === undefined) return table;
    return `(SELECT * FROM ${table} WHERE o.id = ANY(ARRAY(${this.ordersOf(reference, provider)})) OFFSET 0) o`;
  }

  private branch(orders: string, conditions: readonly string[]): string {
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
    return `SELECT o.id, o.created_at, o.status, o.expires_at FROM ${orders} ${where}
             ORDER BY o.created_at DESC, o.id DESC LIMIT ${this.most}`;
  }

  private rangeOf({ createdFrom, createdTo }: ScopedFilter, after?: OrderPosition): string[] {
    const given: string[] = [];
    if (createdFrom) given.push(`o.created_at >= ${this.value(createdFrom)}`);
    if (createdTo) given.push(`o.created_at < ${this.value(createdTo)}`);
    if (after) given.push(`(o.created_at, o.id) < (${this.value(after.createdAt)}, ${this.value(after.id)})`);
    return given;
  }

  /** The key of attempts begins with the provider. There are few providers, so each is asked. */
  private ordersOf(reference: string, provider: string | undefined): string {
    const table = `${this.schema}.payment_attempt`;
    const wanted = this.value(reference);
    if (provider !== undefined)
      return `SELECT a.order_id FROM ${table} a WHERE a.provider = ${this.value(provider)} AND a.reference = ${wanted}`;
    return `
      WITH RECURSIVE known(provider) AS (
        (SELECT a.provider FROM ${table} a ORDER BY a.provider LIMIT 1)
        UNION ALL
        SELECT (SELECT a.provider FROM ${table} a WHERE a.provider > k.provider ORDER BY a.provider LIMIT 1)
          FROM known k WHERE k.provider IS NOT NULL)
      SELECT f.order_id FROM known k CROSS JOIN LATERAL (
        SELECT a.order_id FROM ${table} a WHERE a.provider = k.provider AND a.reference = ${wanted} OFFSET 0) f`;
  }

  private checksOf({ status, expiresFrom, expiresTo, provider, reference, trace }: ScopedFilter): string[] {
    const checks: string[] = [];
    if (status) checks.push(`s.status = ANY(${this.value(status)}::text[])`);
    if (expiresFrom) checks.push(`s.expires_at >= ${this.value(expiresFrom)}`);
    if (expiresTo) checks.push(`s.expires_at < ${this.value(expiresTo)}`);
    // A subquery of one value cannot become a join, which would read the attempts of all orders. The provider must not be
    // found by the key, or each order would read all attempts of the provider.
    if (provider !== undefined && reference === undefined)
      checks.push(`(SELECT true FROM ${this.schema}.payment_attempt a
                     WHERE a.order_id = s.id AND a.provider || '' = ${this.value(provider)} LIMIT 1)`);
    if (trace !== undefined)
      checks.push(`(SELECT true FROM ${this.schema}.order_history h
                     WHERE h.order_id = s.id AND substr(h.traceparent, 4, 32) = ${this.value(trace)} LIMIT 1)`);
    return checks;
  }
}

/** Undefined: all. Empty: the caller may see none of those that it wants. */
function merchantsOf({ merchantId, merchants }: ScopedFilter): readonly string[] | undefined {
  if (merchantId === undefined) return merchants && [...new Set(merchants)];
  return merchants === undefined || merchants.includes(merchantId) ? [merchantId] : [];
}
