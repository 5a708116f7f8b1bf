import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { CLOCK, type Clock, PollingLoop } from '../../clock';
import { Database } from '../../database';
import { RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions } from '../../timeouts';
import { type Inventory } from '../../inventory';
import { type OrderListeners } from '../listeners/order-listeners';
import { z } from 'zod';
import { integer, optionsOf, parseOptions } from '../../errors';
import { isSettled } from '../model/unmatched-money';
import { type PurgedKind, type PurgeStep, PAGE_SIZE, type PurgedPage, PurgeOrders } from './purge-orders';

export const RESOLVED_RETENTION = Symbol('order-timeout:resolved-retention');

/** Injection token of the steps of a purge, one for each kind that is not kept forever. */
export const PURGE_STEPS = Symbol('order-timeout:purge-steps');

/** The number of deleted rows per kind. */
export type PurgeCounts = Readonly<Record<PurgedKind, number>>;

/** The result of one run. */
export interface PurgeRun extends PurgeCounts {
  /** The run used up its time. The next run continues where it stopped. */
  readonly hasMore: boolean;
}

/** The longest time of one run. Purging is not urgent, and deadlines come first. */
const BUDGET_MS = 1_000;
const NONE: PurgeCounts = { orders: 0, idempotencyKeys: 0, settledMoney: 0 };

/** Deletes data whose retention has ended, in bounded steps. Instances share the work by skipping locked rows. */
@Injectable()
export class Purge {
  private stepsLeft: readonly PurgeStep[] = [];
  private after: readonly string[] | undefined;
  private sum: PurgeCounts = NONE;

  constructor(
    @Inject(PURGE_STEPS) private readonly steps: readonly PurgeStep[],
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  get isOn(): boolean {
    return this.steps.length > 0;
  }

  /** The numbers that this process has deleted since its start. */
  get totals(): PurgeCounts {
    return this.sum;
  }

  /**
   * Counts what is old enough to be purged. Open items may keep some of it.
   *
   * @param counted is called with the sum so far, after each page.
   * @internal
   */
  async count(counted: (counts: PurgeCounts) => void = () => undefined): Promise<PurgeCounts> {
    let counts = NONE;
    for (const step of this.steps) {
      let after: readonly string[] | undefined = step.beginning;
      while (after) {
        const { purged, next } = await step.countPage(after);
        counts = { ...counts, [step.kind]: counts[step.kind] + purged };
        counted(counts);
        after = next;
      }
    }
    return counts;
  }

  /** Continues the walk through the tables for at most a second, and starts again after their end. */
  async runOnce(signal?: AbortSignal): Promise<PurgeRun> {
    const endsAt = this.clock.monotonic() + BUDGET_MS;
    if (this.stepsLeft.length === 0) this.stepsLeft = this.steps;
    const before = this.sum;
    while (!signal?.aborted && this.clock.monotonic() < endsAt) {
      const [step, ...rest] = this.stepsLeft;
      if (!step) break;
      const { purged, next } = await step.purgePage(this.after ?? step.beginning);
      this.sum = { ...this.sum, [step.kind]: this.sum[step.kind] + purged };
      this.after = next;
      if (!next) this.stepsLeft = rest;
    }
    return { ...difference(this.sum, before), hasMore: this.stepsLeft.length > 0 };
  }
}

function difference(after: PurgeCounts, before: PurgeCounts): PurgeCounts {
  return {
    orders: after.orders - before.orders,
    idempotencyKeys: after.idempotencyKeys - before.idempotencyKeys,
    settledMoney: after.settledMoney - before.settledMoney,
  };
}

/** Long enough that the purge does not compete with the work of a start. */
const FIRST_PAUSE_MS = 60_000;

/** Pause between two runs of a walk: at most half of the time is spent on purging. */
const PAUSE_MS = 1_000;
const RUN_LIMIT_MS = 600_000;

/** Runs the purge in the background, from one minute after the start. */
@Injectable()
export class PurgeLoop implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(PurgeLoop.name);
  private readonly loop: PollingLoop;
  private hasStarted = false;
  private pauseMs = FIRST_PAUSE_MS;

  constructor(
    private readonly purge: Purge,
    @Inject(RESOLVED_RETENTION) private readonly retention: ResolvedRetentionOptions,
    @Inject(RESOLVED_TIMEOUTS_OPTIONS)
    private readonly timeouts: Pick<ResolvedTimeoutsOptions, 'consume' | 'isDrivenByTests'>,
    @Inject(CLOCK) clock: Clock,
  ) {
    this.loop = new PollingLoop(clock, {
      name: 'purge',
      runOnce: (signal) => this.runOnce(signal),
      intervalMs: () => this.pauseMs,
      limitMs: RUN_LIMIT_MS,
    });
  }

  onApplicationBootstrap(): void {
    const { consume, isDrivenByTests } = this.timeouts;
    if (consume && !isDrivenByTests && this.purge.isOn) this.loop.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  private async runOnce(signal: AbortSignal): Promise<boolean> {
    if (!this.hasStarted) {
      this.hasStarted = true;
      return false;
    }
    const { orders, idempotencyKeys, settledMoney, hasMore } = await this.purge.runOnce(signal);
    if (orders + idempotencyKeys + settledMoney > 0) {
      this.logger.log(`purged ${orders} orders, ${idempotencyKeys} idempotency keys, ${settledMoney} settled payments`);
    }
    this.pauseMs = hasMore ? PAUSE_MS : this.retention.intervalMs;
    return false;
  }
}

interface Rows {
  readonly kind: PurgedKind;
  readonly table: string;
  /** Primary key columns with their types, and a value before the first row. */
  readonly key: readonly { readonly name: string; readonly type: string; readonly beginning: string }[];
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
    private readonly database: Database,
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
    const [page] = await this.database.query<PageRow[]>(sql, [this.keepMs, ...after]);
    const { purged = 0, examined = 0, last = null } = page ?? {};
    return { purged, ...(last !== null && examined === PAGE_SIZE ? { next: last } : {}) };
  }
}

export function purgeSteps(
  database: Database,
  inventory: Inventory,
  listeners: Pick<OrderListeners, 'kinds'>,
  { finishedOrdersMs, idempotencyKeysMs, settledMoneyMs }: ResolvedRetentionOptions,
): PurgeStep[] {
  const { schema } = database;
  return [
    ...(finishedOrdersMs > 0 ? [new PurgeOrders(database, inventory, listeners, finishedOrdersMs)] : []),
    ...(idempotencyKeysMs > 0 ? [new PurgeRows(database, idempotencyKeys(schema), idempotencyKeysMs)] : []),
    ...(settledMoneyMs > 0 ? [new PurgeRows(database, settledMoney(schema), settledMoneyMs)] : []),
  ];
}

/** Idempotency keys. A request that is repeated later than this counts as new. */
export function idempotencyKeys(schema: string): Rows {
  const key = ['scope', 'key'].map((name) => ({ name, type: 'text', beginning: '' }));
  return { kind: 'idempotencyKeys', table: `${schema}.idempotency_key`, key, condition: 'true' };
}

export function settledMoney(schema: string): Rows {
  const key = [{ name: 'id', type: 'uuid', beginning: '00000000-0000-0000-0000-000000000000' }];
  // A settled row stays as long as the attempt that it is about: only the row lets a person reopen it, and without it the
  // same news would be told, or its excess be refunded, once more.
  // A chargeback may be under the provider's own id, or under an account that the attempt got later.
  const attempt = `SELECT true FROM ${schema}.payment_attempt a
             WHERE a.provider = r.provider
               AND (a.merchant_account = r.merchant_account OR '' IN (a.merchant_account, r.merchant_account))`;
  const isHeld = `r.handling = 'settled' AND (
            ${attempt} AND a.reference = r.reference
            UNION ALL ${attempt} AND a.transaction_id = r.reference LIMIT 1)`;
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

/** How long finished data is kept, in milliseconds from its last change. 0 keeps it forever. */
export interface RetentionOptions {
  /**
   * Orders in CLOSED, CANCELLED, PAID, or CLOSED_REFUNDED without open items, with lines, attempts, refunds,
   * reservations, and history. 0, or at least one day. Money that arrives later belongs to an unknown order. @default 0
   */
  readonly finishedOrdersMs?: number;
  /**
   * Idempotency keys. After this time, a key may be used for another order. 0, or at least one day.
   * @default 2592000000 (30 days)
   */
  readonly idempotencyKeysMs?: number;
  /**
   * Unmatched money (`unmatched_payment`) that needs no more action. Open items are never purged. 0, or at least one day.
   * @default 0
   */
  readonly settledMoneyMs?: number;
  /** From the end of one walk through the tables to the start of the next. @default 3600000 (1 hour) */
  readonly intervalMs?: number;
}

export type ResolvedRetentionOptions = Required<RetentionOptions>;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A hundred years, because PostgreSQL must be able to subtract it from the current time. */
const MAX_MS = 36_500 * DAY_MS;

const keepMs = z.custom<number>(
  (ms) => ms === 0 || (Number.isInteger(ms) && Number(ms) >= DAY_MS && Number(ms) <= MAX_MS),
  {
    error: ({ input }) =>
      `must be 0 (keep forever), or an integer from ${DAY_MS} (a day) to ${MAX_MS} ms (got ${String(input)})`,
    abort: false,
  },
);

export const retentionOptions = optionsOf({
  finishedOrdersMs: keepMs.default(0),
  idempotencyKeysMs: keepMs.default(30 * DAY_MS),
  settledMoneyMs: keepMs.default(0),
  intervalMs: integer(1_000, DAY_MS, ' ms').default(HOUR_MS),
} satisfies Record<keyof RetentionOptions, z.ZodType>);

/** @throws InvalidOptionsError that names every invalid option. */
export function resolveRetention(options: RetentionOptions = {}): ResolvedRetentionOptions {
  return Object.freeze(parseOptions('retention', retentionOptions, options));
}
