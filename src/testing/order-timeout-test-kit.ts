import { type INestApplicationContext } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { ORDER_PAYMENT, Orders, type OrderView, PAYMENT_NAME_KEY } from '../orders';
import { PaymentProviders, type PaymentProvider } from '../payments';
import {
  RESOLVED_TIMEOUTS_OPTIONS,
  type ResolvedTimeoutsOptions,
  type SettledRow,
  TimeoutEngine,
  TimeoutObservers,
  TimeoutScheduler,
  type TimeoutRef,
  DRIVEN_BY_TESTS,
  openTimeouts,
  RAW_TIMEOUTS_OPTIONS,
  type TimeoutsOptions,
} from '../timeouts';
import { type Clock, CLOCK } from '../clock';
import {
  ORDER_TIMEOUT_OPTIONS,
  RAW_ORDER_TIMEOUT_OPTIONS,
  resolveOrderTimeoutOptions,
  type OrderTimeoutOptions,
  type ResolvedOrderTimeoutOptions,
} from '../module';
import { takeEvents } from '../outbox';
import { ownTransaction } from '../database';
import { CodedError } from '../errors';
import { ScriptedPaymentProvider } from './payments/scripted-payment-provider';

/** How many timeouts were run, by outcome. A timeout whose handler threw counts as `retry`. */
export interface RunCounts {
  readonly done: number;
  readonly retry: number;
  readonly reschedule: number;
  readonly park: number;
}

type Container = Pick<INestApplicationContext, 'get'>;

/**
 * Tests an application that imports OrderTimeoutModule or TimeoutsModule. No broker is needed, no provider is called, and
 * nothing runs by itself: the test says when time passes and when due timeouts run.
 */
export class OrderTimeoutTestKit {
  /** What subscribers on the broker would have received. */
  readonly events: RecordedEvents;
  private counts: Record<keyof RunCounts, number> = noCounts();

  private constructor(
    private readonly container: Container,
    private readonly engine: TimeoutEngine,
    private readonly options: ResolvedTimeoutsOptions,
  ) {
    this.events = new RecordedEvents(options.dataSource, options.schema);
    container.get(TimeoutObservers, { strict: false }).add({ settled: (_kind, rows) => this.count(rows) });
  }

  /** Call it with the builder of `Test.createTestingModule(…)`, before `compile()`. Returns the builder. */
  static override<B extends ModuleBuilder>(builder: B, options: TestKitOptions = {}): B {
    overrideModule(builder, options);
    return builder;
  }

  /**
   * The kit of a compiled testing module. The module has to be initialized before the kit is used.
   *
   * @throws TestKitUsageError if `override` was not called.
   */
  static from(module: Container): OrderTimeoutTestKit {
    const options = module.get<ResolvedTimeoutsOptions>(RESOLVED_TIMEOUTS_OPTIONS, { strict: false });
    if (!options.isDrivenByTests)
      throw new TestKitUsageError('call OrderTimeoutTestKit.override(builder) before builder.compile()');
    return new OrderTimeoutTestKit(module, module.get(TimeoutEngine, { strict: false }), options);
  }

  /**
   * Lets `ms` milliseconds pass, and runs nothing. Every time in our tables moves back by `ms`; PostgreSQL's clock and yours
   * stay as they are. So read times after the call, or compare distances.
   */
  async advanceTime(ms: number): Promise<void> {
    if (!Number.isInteger(ms) || ms < 0)
      throw new TestKitUsageError(`advanceTime needs a whole number of milliseconds, 0 or more (got ${ms})`);
    if (ms > 0) await shiftTimes(this.options.dataSource, this.options.schema, ms);
  }

  /**
   * Runs everything that is due, earliest first, until nothing is: handlers, look-ups, and what they make due.
   *
   * @throws DueTimeoutLockedError if a transaction of the test has locked a due timeout.
   */
  async runDue(): Promise<RunCounts> {
    this.counts = noCounts();
    await this.engine.dueRuns.run();
    return this.counts;
  }

  /** Lets `ms` milliseconds pass, and runs each timeout at the time at which it becomes due. */
  async runFor(ms: number): Promise<RunCounts> {
    const total = noCounts();
    for (let left = ms; ;) {
      const nextMs = await this.engine.dueRuns.untilNext();
      const stepMs = nextMs === undefined ? left : Math.min(nextMs, left);
      await this.advanceTime(stepMs);
      add(total, await this.runDue());
      left -= stepMs;
      if (left === 0) return total;
    }
  }

  /**
   * Lets time pass until the order is due to be closed, and runs each timeout on the way, for example reminders.
   *
   * @throws TestKitUsageError if no deadline is pending: the order does not exist, has ended, or does not close by itself.
   */
  async expire(orderId: string): Promise<OrderView> {
    await this.runUntilDue({ kind: ORDER_PAYMENT, key: orderId });
    const order = await this.container.get(Orders, { strict: false }).get(orderId);
    if (!order) throw new TestKitUsageError(`there is no order "${orderId}"`);
    return order;
  }

  /**
   * Lets time pass until a timeout of yours is due, and runs each timeout on the way.
   *
   * @throws TestKitUsageError if it is not pending.
   */
  async runUntilDue(timeout: TimeoutRef): Promise<RunCounts> {
    const pending = await this.container.get(TimeoutScheduler, { strict: false }).find(timeout);
    if (pending?.state !== 'pending')
      throw new TestKitUsageError(`no timeout "${timeout.key}" of "${timeout.kind}" is pending; was it scheduled?`);
    return this.runFor(await this.engine.dueRuns.untilDue(timeout));
  }

  /**
   * The scripted provider that stands in for the provider of this name.
   *
   * @throws TestKitUsageError if the module has none, and `override` was given none.
   */
  payments(name: string): ScriptedPaymentProvider {
    const providers = this.container.get(PaymentProviders, { strict: false });
    const provider = providers.get(name);
    if (provider instanceof ScriptedPaymentProvider) return provider;
    const known = providers.names().join(', ') || 'none';
    throw new TestKitUsageError(
      `there is no payment provider "${name}" (there are: ${known}); add it to the module, or to override(builder, { payments })`,
    );
  }

  /** Deletes all orders, stock, timeouts, and events, and forgets what the scripted providers know. */
  async clear(): Promise<void> {
    const { dataSource, schema } = this.options;
    await ownTransaction(dataSource, (tx) => tx.query(emptySql(schema)), { lockMs: LOCK_MS });
    await this.events.clear();
    const providers = this.container.get(PaymentProviders, { strict: false });
    for (const name of providers.names()) this.payments(name).clear();
  }

  private count(rows: readonly SettledRow[]): void {
    for (const { outcome } of rows) if (outcome.type !== 'look-up') this.counts[outcome.type] += 1;
  }
}

function noCounts(): Record<keyof RunCounts, number> {
  return { done: 0, retry: 0, reschedule: 0, park: 0 };
}

function add(total: Record<keyof RunCounts, number>, counts: RunCounts): void {
  for (const name of Object.keys(total) as (keyof RunCounts)[]) total[name] += counts[name];
}

/** What the test kit changes. */
export interface TestKitOptions {
  /** PostgreSQL schema of the tables instead of the module's own, for example one for each worker of the test runner. */
  readonly schema?: string;
  /** Names of scripted payment providers beside those of the module. @default [] */
  readonly payments?: readonly string[];
}

/** The part of Nest's TestingModuleBuilder that is used. */
export interface ModuleBuilder {
  overrideProvider(token: unknown): {
    useFactory(options: { factory: (...dependencies: never[]) => unknown; inject?: unknown[] }): unknown;
  };
}

/** Takes the broker, the clocks, and the payment providers from the module under test. */
function overrideModule(builder: ModuleBuilder, { schema, payments = [] }: TestKitOptions): void {
  const change = { [DRIVEN_BY_TESTS]: true, ...(schema !== undefined && { schema }) } as const;
  builder.overrideProvider(ORDER_TIMEOUT_OPTIONS).useFactory({
    factory: (raw: OrderTimeoutOptions) => resolveOrderTimeoutOptions({ ...raw, ...change }, { operator: true }),
    inject: [RAW_ORDER_TIMEOUT_OPTIONS],
  });
  builder.overrideProvider(RESOLVED_TIMEOUTS_OPTIONS).useFactory({
    factory: (raw: TimeoutsOptions, clock: Clock) => openTimeouts({ ...raw, ...change }, clock),
    inject: [RAW_TIMEOUTS_OPTIONS, CLOCK],
  });
  builder.overrideProvider(PaymentProviders).useFactory({
    factory: ({ providers }: ResolvedOrderTimeoutOptions) => scripted(providers, payments),
    inject: [ORDER_TIMEOUT_OPTIONS],
  });
}

function scripted(providers: readonly PaymentProvider[], names: readonly string[]): PaymentProviders {
  const ofModule = providers.map((one) => new ScriptedPaymentProvider(one.name, one));
  return new PaymentProviders([...ofModule, ...names.map((name) => new ScriptedPaymentProvider(name))]);
}

/** An event as a subscriber on the broker would receive it. */
export interface RecordedEvent {
  /** The routing key, for example `order.closed`. */
  readonly type: string;
  /** Absent in events that belong to no order. */
  readonly orderId?: string;
  readonly [field: string]: unknown;
}

/** The events of committed transactions, in the order in which they were written. */
export class RecordedEvents {
  private readonly events: RecordedEvent[] = [];

  /** @internal The test kit makes it. */
  constructor(
    private readonly dataSource: DataSource,
    private readonly schema: string,
  ) {}

  async all(): Promise<readonly RecordedEvent[]> {
    for (const { type, body } of await takeEvents(this.dataSource, this.schema)) this.events.push({ ...body, type });
    return [...this.events];
  }

  /** The events of one order. */
  async of(orderId: string): Promise<readonly RecordedEvent[]> {
    return (await this.all()).filter((event) => event.orderId === orderId);
  }

  /** The types of the events of one order, for example `['order.expiring', 'order.closed']`. */
  async typesOf(orderId: string): Promise<readonly string[]> {
    return (await this.of(orderId)).map(({ type }) => type);
  }

  /** Forgets all events so far. */
  async clear(): Promise<void> {
    await this.all();
    this.events.length = 0;
  }
}

/** A test that has left a transaction open should hear of it soon. */
const LOCK_MS = 2_000;

/**
 * Lets time pass in the tables: moves every time in them back by `ms`, in one statement. PostgreSQL's clock stays as it is.
 * All distances between times stay the same, so the tables are what they would be if all had happened `ms` earlier.
 */
export async function shiftTimes(dataSource: DataSource, schema: string, ms: number): Promise<void> {
  await ownTransaction(dataSource, (tx) => tx.query(shiftSql(schema, ms)), { lockMs: LOCK_MS });
}

/**
 * Columns are read from the catalog, so no table is forgotten. A payment watch has its start in its payload. The triggers
 * would keep the history from being changed.
 */
function shiftSql(schema: string, ms: number): string {
  const began = `to_char((payload ->> 'since')::timestamptz - interval '${ms} milliseconds', 'YYYY-MM-DD"T"HH24:MI:SS.MSTZH:TZM')`;
  const watch = `CASE WHEN kind = 'order.late-watch' THEN payload || jsonb_build_object('since', ${began}) ELSE payload END`;
  const has = (what: string): string => `EXISTS (SELECT 1 FROM pg_trigger g WHERE g.tgrelid = c.oid AND ${what})`;
  return `
    DO $$
    DECLARE moved record;
    BEGIN
      FOR moved IN
        SELECT c.oid::regclass AS name, ${has('NOT g.tgisinternal')} AS is_guarded,
               string_agg(CASE a.attname WHEN 'payload' THEN $watch$payload = ${watch}$watch$
                 ELSE format('%1$I = %1$I - interval ''${ms} milliseconds''', a.attname) END, ', ') AS changes
          FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
         WHERE c.relnamespace = '${schema}'::regnamespace AND c.relkind = 'r'
           AND (a.atttypid = 'timestamptz'::regtype OR a.attname = 'payload') AND a.attnum > 0 AND NOT a.attisdropped
         GROUP BY c.oid
      LOOP
        IF moved.is_guarded THEN EXECUTE format('ALTER TABLE %s DISABLE TRIGGER USER', moved.name); END IF;
        EXECUTE format('UPDATE %s SET %s', moved.name, moved.changes);
        IF moved.is_guarded THEN EXECUTE format('ALTER TABLE %s ENABLE TRIGGER USER', moved.name); END IF;
      END LOOP;
    END $$`;
}

/**
 * Deletes all rows of our tables, except for what the migrations and the engine have recorded: TRUNCATE takes longer for a
 * few. Rows that refer to others go first. A guarded table keeps its rows unless its triggers are off.
 */
function emptySql(schema: string): string {
  return `
    DO $$
    DECLARE emptied record;
    BEGIN
      FOR emptied IN
        WITH RECURSIVE ours AS (
          SELECT oid FROM pg_class
           WHERE relnamespace = '${schema}'::regnamespace AND relkind = 'r'
             AND relname NOT LIKE '%migrations' AND relname NOT IN ('engine_setting', '${PAYMENT_NAME_KEY}')),
        path AS (
          SELECT oid, 0 AS steps FROM ours
           UNION SELECT f.confrelid, steps + 1 FROM path JOIN pg_constraint f ON f.contype = 'f' AND f.conrelid = path.oid)
        SELECT oid::regclass AS name,
               EXISTS (SELECT 1 FROM pg_trigger g WHERE g.tgrelid = path.oid AND NOT g.tgisinternal) AS is_guarded
          FROM path GROUP BY oid ORDER BY max(steps)
      LOOP
        IF emptied.is_guarded THEN EXECUTE format('ALTER TABLE %s DISABLE TRIGGER USER', emptied.name); END IF;
        EXECUTE format('DELETE FROM %s', emptied.name);
        IF emptied.is_guarded THEN EXECUTE format('ALTER TABLE %s ENABLE TRIGGER USER', emptied.name); END IF;
      END LOOP;
    END $$`;
}

/** The test kit was used in a way that cannot work. The message says what to do instead. */
export class TestKitUsageError extends CodedError {
  constructor(sentence: string) {
    super('TEST_KIT_USAGE', sentence);
  }
}
