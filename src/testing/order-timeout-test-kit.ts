import { type INestApplicationContext } from '@nestjs/common';
import { ORDER_PAYMENT, Orders, type OrderView } from '../orders';
import { PaymentProviders } from '../payments';
import {
  RESOLVED_TIMEOUTS_OPTIONS,
  type ResolvedTimeoutsOptions,
  type SettledRow,
  TimeoutEngine,
  TimeoutObservers,
  TimeoutScheduler,
  type TimeoutRef,
} from '../timeouts';
import { emptyTables } from './kit/empty-tables';
import { type ModuleBuilder, overrideModule, type TestKitOptions } from './kit/override-module';
import { RecordedEvents } from './kit/recorded-events';
import { shiftTimes } from './kit/shift-times';
import { TestKitUsageError } from './kit/test-kit-usage-error';
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
    await emptyTables(this.options.dataSource, this.options.schema);
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
