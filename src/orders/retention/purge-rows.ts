import { type DataSource } from 'typeorm';
import { ownQuery } from '../../database';
import { isSettled } from './settled-money';
import { PAGE_SIZE, type PurgedKind, type PurgedPage, type PurgeStep } from './purge-step';

interface Rows {
  readonly kind: PurgedKind;
  readonly table: string;
  /** Primary key columns with their types, and a value before the first row. */
  readonly key: readonly { readonly name: string; readonly type: string; readonly beginning: string }[];
  /** SQL condition on a row `r` in addition to its age. */
  readonly condition: string;
}

interface PageRow {
  readonly purged: number;
  readonly examined: number;
  readonly last: string[] | null;
}

/** SQL: older rows are purged. `$1` is the retention in milliseconds. */
const KEPT_SINCE = `now() - $1 * interval '1 millisecond'`;

/** Deletes old rows that nothing references, by their `created_at`. */
export class PurgeRows implements PurgeStep {
  readonly kind: PurgedKind;
  readonly beginning: readonly string[];
  private readonly sql: string;
  private readonly countSql: string;

  constructor(
    private readonly dataSource: DataSource,
    rows: Rows,
    private readonly keepMs: number,
  ) {
    this.kind = rows.kind;
    this.beginning = rows.key.map(({ beginning }) => beginning);
    this.sql = pageSql(rows, 'delete');
    this.countSql = pageSql(rows, 'count');
  }

  purgePage(after: readonly string[]): Promise<PurgedPage> {
    return this.run(this.sql, after);
  }

  countPage(after: readonly string[]): Promise<PurgedPage> {
    return this.run(this.countSql, after);
  }

  private async run(sql: string, after: readonly string[]): Promise<PurgedPage> {
    const [page] = await ownQuery<PageRow[]>(this.dataSource, sql, [this.keepMs, ...after]);
    const { purged = 0, examined = 0, last = null } = page ?? {};
    return { purged, ...(last !== null && examined === PAGE_SIZE ? { next: last } : {}) };
  }
}

/** Idempotency keys. A request that is repeated later than this counts as new. */
export function idempotencyKeys(schema: string): Rows {
  const key = ['scope', 'key'].map((name) => ({ name, type: 'text', beginning: '' }));
  return { kind: 'idempotencyKeys', table: `${schema}.idempotency_key`, key, condition: 'true' };
}

/** Unmatched money that needs no more action. */
export function settledMoney(schema: string): Rows {
  const key = [{ name: 'id', type: 'uuid', beginning: '00000000-0000-0000-0000-000000000000' }];
  // A settled row stays as long as the attempt that it is about: only the row lets a person reopen it, and without it the
  // same news would be told, or its excess be refunded, once more.
  const isHeld = `r.handling = 'settled' AND (
            SELECT true FROM ${schema}.payment_attempt a
             WHERE a.provider = r.provider AND a.reference = r.reference AND a.merchant_account = r.merchant_account)`;
  const isRecent = `r.resolved_at >= ${KEPT_SINCE}`;
  const condition = `${isSettled(schema, 'r')} AND (${isHeld}) IS NOT TRUE AND (${isRecent}) IS NOT TRUE`;
  return { kind: 'settledMoney', table: `${schema}.unmatched_payment`, key, condition };
}

function pageSql({ table, key, condition }: Rows, does: 'delete' | 'count'): string {
  const names = key.map(({ name }) => `r.${name}`).join(', ');
  const after = key.map(({ type }, index) => `$${index + 2}::${type}`).join(', ');
  const texts = key.map(({ name }) => `${name}::text`).join(', ');
  const backwards = key.map(({ name }) => `${name} DESC`).join(', ');
  const gone =
    does === 'delete'
      ? `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT place FROM held)) RETURNING 1`
      : 'SELECT 1 FROM page WHERE is_due';
  return `
    WITH page AS MATERIALIZED (
      SELECT ${names}, r.ctid AS place,
             r.created_at < ${KEPT_SINCE} AND ${condition} AS is_due
        FROM ${table} r WHERE (${names}) > (${after}) ORDER BY ${names} LIMIT ${PAGE_SIZE}),
    held AS MATERIALIZED (
      SELECT r.ctid AS place FROM ${table} r
       WHERE r.ctid = ANY(ARRAY(SELECT place FROM page WHERE is_due)) AND ${condition} FOR UPDATE SKIP LOCKED),
    gone AS (${gone})
    SELECT (SELECT count(*)::int FROM gone) AS purged, (SELECT count(*)::int FROM page) AS examined,
           (SELECT ARRAY[${texts}] FROM page ORDER BY ${backwards} LIMIT 1) AS last`;
}
