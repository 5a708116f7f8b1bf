import { Inject, Injectable } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { CLOCK, type Clock, withTimeout } from '../../clock';
import { ownQuery } from '../../database';
import { ORDER_PAYMENT, SummarizeOrders, UnmatchedPayments, type OrderSummary, PAYMENT_REFUND } from '../../orders';
import { Outbox, type OutboxBacklog } from '../../outbox';
import { PaymentProviders, type BreakerState, ResilientProvider } from '../../payments';
import { RabbitClient } from '../../rabbit';
import {
  COUNT_LIMIT,
  MINUTE_LIMIT,
  oldestOverdue,
  RESOLVED_TIMEOUTS_OPTIONS,
  type ResolvedTimeoutsOptions,
  TimeoutEngine,
  TimeoutSummary,
  type ControlReason,
  type DueCounts,
  type TransportChoice,
  type Controls,
  type SettledRow,
  type TimeoutCause,
  type TimeoutObserver,
} from '../../timeouts';
import { type MerchantScope } from '../http';
import { BrokerMessages, SharedAnswer } from './parked-work';

/** What brings timeouts to their handlers, in the words of the page. */
const CLOCKS = ['message', 'sweep', 'access'] as const;

type ClockName = (typeof CLOCKS)[number];

/** How late the last timeouts of this process were, in milliseconds after their deadlines. Null: there were none. */
interface ClockLateness {
  readonly clock: ClockName;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** How many timeouts these numbers are of. */
  readonly count: number;
}

const KEPT = 1_000;

const CLOCK_OF: Readonly<Record<TimeoutCause, ClockName | undefined>> = {
  message: 'message',
  sweep: 'sweep',
  passive: 'access',
  operator: undefined,
};

/** Keeps how late the last 1,000 timeouts of each clock were. */
export class Lateness implements Pick<TimeoutObserver, 'settled'> {
  private readonly samples = new Map<ClockName, { readonly values: number[]; next: number }>();

  settled(_kind: string, rows: readonly SettledRow[], nowMs: number): void {
    for (const { due, outcome } of rows) {
      const clock = CLOCK_OF[due.cause];
      // A wait for a provider says nothing about punctuality.
      if (clock && outcome.type === 'done') this.add(clock, Math.max(0, nowMs - due.dueAt.getTime()));
    }
  }

  read(): ClockLateness[] {
    return CLOCKS.map((clock) => {
      const sorted = [...(this.samples.get(clock)?.values ?? [])].sort((a, b) => a - b);
      const at = (share: number): number | null => sorted[Math.ceil(share * sorted.length) - 1] ?? null;
      return { clock, p50Ms: at(0.5), p99Ms: at(0.99), count: sorted.length };
    });
  }

  private add(clock: ClockName, lateMs: number): void {
    const sample = this.samples.get(clock) ?? { values: [], next: 0 };
    sample.values[sample.next] = Math.round(lateMs);
    sample.next = (sample.next + 1) % KEPT;
    this.samples.set(clock, sample);
  }
}

/** Everybody who looks within a second gets the same answer. */
const GOOD_MS = 1_000;

/** A page that waits longer for the database shows that it does not answer. */
const PATIENCE_MS = 2_000;

const BACKLOG_MS = 1_000;

/** Reads the state of everything when somebody looks. Nothing is read while nobody does. */
@Injectable()
export class ReadOverview {
  private readonly answers: SharedAnswer<Overview>;

  constructor(
    @Inject(RESOLVED_TIMEOUTS_OPTIONS) private readonly options: ResolvedTimeoutsOptions,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly engine: TimeoutEngine,
    private readonly client: RabbitClient,
    private readonly outbox: Outbox,
    private readonly timeouts: TimeoutSummary,
    private readonly orders: SummarizeOrders,
    private readonly unmatched: UnmatchedPayments,
    private readonly providers: PaymentProviders,
    private readonly messages: BrokerMessages,
    private readonly lateness: Lateness,
  ) {
    this.answers = new SharedAnswer(clock, GOOD_MS);
  }

  /** Takes at most about two seconds, even if the database does not answer. */
  execute(scope: MerchantScope): Promise<Overview> {
    return this.answers.get(JSON.stringify(scope.merchants ?? null), () => this.read(scope));
  }

  private async read(scope: MerchantScope): Promise<Overview> {
    const { clock, engine } = this;
    const reading = this.stored(scope).catch(() => undefined);
    const [stored, parkedMessages] = await Promise.all([
      withTimeout<StoredFacts | undefined>(clock, PATIENCE_MS, reading, undefined),
      withTimeout(clock, PATIENCE_MS, this.messages.count(), null),
    ]);
    return {
      now: stored?.now ?? new Date(clock.now()),
      orders: stored ? ordersOf(stored.summary) : null,
      due: stored ? dueOf(stored) : null,
      lateness: this.lateness.read(),
      transport: engine.path.choice ?? null,
      broker: this.broker(),
      database: { state: stored ? 'up' : 'down' },
      outbox: stored?.backlog ? outboxOf(stored.backlog) : null,
      providers: providerStates(this.providers, engine.controls),
      kinds: kindsOf(engine, stored),
      attention: {
        parkedTimeouts: stored ? sum([...stored.parked.values()]) : null,
        unmatchedPayments: stored?.unmatched ?? null,
        refundsFailed: stored ? (stored.parked.get(PAYMENT_REFUND) ?? 0) : null,
        parkedMessages,
      },
      limits: { count: COUNT_LIMIT, perMinute: MINUTE_LIMIT },
    };
  }

  /** On three connections at most, because requests need the others. */
  private async stored(scope: MerchantScope): Promise<StoredFacts> {
    const { timeouts, orders, unmatched, options } = this;
    const { dataSource, schema } = options;
    const { merchants } = scope;
    const [summary, ofTimeouts, others] = await Promise.all([
      orders.execute(merchants),
      inTurn(
        () => Promise.resolve(merchants ? null : timeouts.due(ORDER_PAYMENT, MINUTES)),
        () => timeouts.parkedByKind(scope.timeouts(schema)),
        () => databaseNow(dataSource),
      ),
      inTurn(
        () => oldestOverdue(dataSource, schema),
        () => unmatched.countOpen(COUNT_LIMIT, merchants),
        () => this.backlog(),
      ),
    ]);
    const [due, parked, now] = ofTimeouts;
    const [overdue, open, backlog] = others;
    return { now, summary, due, backlog, parked, overdue, unmatched: open };
  }

  /** Null: it takes too long, because a great many messages wait for a broker. */
  private backlog(): Promise<OutboxBacklog | null> {
    const backlog = this.outbox.backlog(this.options.dataSource);
    return withTimeout<OutboxBacklog | null>(this.clock, BACKLOG_MS, backlog, null);
  }

  private broker(): Overview['broker'] {
    const { isConfigured, isUp } = this.client;
    const { state: messagePath, doubt: cause = null } = this.engine.path;
    return { state: isConfigured ? (isUp ? 'up' : 'down') : 'not configured', messagePath, cause };
  }
}

type Ask<T> = () => Promise<T>;

async function inTurn<A, B, C>(first: Ask<A>, second: Ask<B>, third: Ask<C>): Promise<[A, B, C]> {
  return [await first(), await second(), await third()];
}

async function databaseNow(dataSource: DataSource): Promise<Date> {
  const [row] = await ownQuery<{ now: Date }[]>(dataSource, 'SELECT clock_timestamp() AS now');
  if (!row) throw new Error('a clock without an answer');
  return row.now;
}

/** What the database says. Each number stops at its limit; see `limits`. */
interface StoredFacts {
  readonly now: Date;
  readonly summary: OrderSummary;
  /** Null: the operator is limited to merchants, and the summary has the numbers. */
  readonly due: DueCounts | null;
  /** Null: counting takes too long. */
  readonly backlog: OutboxBacklog | null;
  readonly parked: ReadonlyMap<string, number>;
  readonly overdue: ReadonlyMap<string, number>;
  readonly unmatched: number;
}

/** A payment provider, as this process sees it. */
interface ProviderState {
  readonly name: string;
  readonly breaker: BreakerState;
  readonly paused: boolean;
  readonly pause: ControlReason | null;
  /** Calls per second for each merchant account, as an operator has set them. Null: as configured. */
  readonly limitPerSecond: number | null;
  readonly configuredPerSecond: number;
}

/** The state of everything, for `GET overview`. What the database does not answer is null. */
export interface Overview {
  readonly now: Date;
  readonly orders: (Pick<OrderSummary, 'pending' | 'closing' | 'paid24h' | 'closed24h'> & { partial: boolean }) | null;
  readonly due: { readonly nextMinute: number; readonly nextHour: readonly number[]; readonly overdue: number } | null;
  readonly lateness: readonly ClockLateness[];
  readonly transport: TransportChoice | null;
  readonly broker: {
    readonly state: 'up' | 'down' | 'not configured';
    readonly messagePath: string;
    readonly cause: string | null;
  };
  readonly database: { readonly state: 'up' | 'down' };
  readonly outbox: { readonly waiting: number; readonly oldestSeconds: number; readonly parked: number } | null;
  readonly providers: readonly ProviderState[];
  readonly kinds: readonly KindState[];
  readonly attention: {
    readonly parkedTimeouts: number | null;
    readonly unmatchedPayments: number | null;
    readonly refundsFailed: number | null;
    readonly parkedMessages: number | null;
  };
  readonly limits: { readonly count: number; readonly perMinute: number };
}

/** One kind of timeouts. Null: the database does not answer, or nothing is overdue. */
interface KindState {
  readonly kind: string;
  readonly paused: boolean;
  readonly pause: ControlReason | null;
  readonly parked: number | null;
  readonly overdueOldestSeconds: number | null;
}

const MINUTES = 60;

function ordersOf({ pending, closing, paid24h, closed24h, isPartial }: OrderSummary): Overview['orders'] {
  const upTo = (count: number): number => Math.min(count, COUNT_LIMIT);
  return { pending: upTo(pending), closing: upTo(closing), paid24h, closed24h, partial: isPartial };
}

function dueOf({ due, summary }: StoredFacts): Overview['due'] {
  const nextHour = due?.byMinute ?? Array.from({ length: MINUTES }, (_, at) => summary.dueByMinute.get(at) ?? 0);
  return { nextMinute: nextHour[0] ?? 0, nextHour, overdue: due?.overdue ?? summary.overdue };
}

function outboxOf({ rows, oldestSeconds, parked }: OutboxBacklog): Overview['outbox'] {
  return { waiting: rows, oldestSeconds: Math.round(oldestSeconds), parked };
}

function kindsOf({ kinds, controls }: TimeoutEngine, stored: StoredFacts | undefined): KindState[] {
  const all = new Set([...kinds, ...(stored?.parked.keys() ?? []), ...(stored?.overdue.keys() ?? [])]);
  return [...all].sort().map((kind) => {
    const seconds = stored?.overdue.get(kind);
    const overdueOldestSeconds = seconds === undefined ? null : Math.round(seconds);
    const { pause } = controls.of(`kind:${kind}`);
    const parked = stored ? (stored.parked.get(kind) ?? 0) : null;
    return { kind, paused: pause !== null, pause, parked, overdueOldestSeconds };
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** The state of every provider, as this process sees it, in the order of configuration. */
function providerStates(providers: PaymentProviders, controls: Controls): ProviderState[] {
  return providers.names().flatMap((name) => {
    const provider = providers.get(name);
    if (!(provider instanceof ResilientProvider)) return [];
    const { pause, limit } = controls.of(`provider:${name}`);
    const { breakerState: breaker, configuredPerSecond } = provider;
    const limitPerSecond = limit?.perSecond ?? null;
    return [{ name, breaker, paused: pause !== null, pause, limitPerSecond, configuredPerSecond }];
  });
}
