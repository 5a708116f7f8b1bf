import { Gauge, type Registry, Counter, Histogram } from 'prom-client';
import { type SettledRow, type TimeoutObserver } from '../timeouts';
import {
  type BreakerState,
  ResilientProvider,
  type PaymentObserver,
  type PaymentProviders,
  type UntrustedSource,
} from '../payments';
import { type Purge } from '../orders';
import { type ServiceState } from './service-state';

/** Gauges that are read at each scrape. Without an answer from the database, those of its tables keep their last values. */
export class StateMetrics {
  /** The read that the gauges of one scrape share. */
  private look: Promise<Found> | undefined;

  constructor(
    private readonly registry: Registry,
    private readonly state: ServiceState,
  ) {
    const shouldBeSent = 'Messages that should be on the broker by now';
    this.gauge('order_timeout_outbox_rows', shouldBeSent, ({ backlog }) => backlog?.rows);
    const waiting = 'Seconds that the oldest of them has been waiting';
    this.gauge('order_timeout_outbox_oldest_seconds', waiting, ({ backlog }) => backlog?.oldestSeconds);
    const unsendable = 'Messages that cannot be sent and wait for a person';
    this.gauge('order_timeout_outbox_parked', unsendable, ({ backlog }) => backlog?.parked);
    const up = '1 while the database answers and accepts writes';
    this.gauge('order_timeout_database_up', up, ({ isDatabaseUp }) => Number(isDatabaseUp));
    // Absent without a broker, so that no alert fires.
    if (state.hasBroker) {
      const flow = '1 while messages flow both ways';
      this.gauge('order_timeout_broker_up', flow, ({ broker }) => Number(broker === 'up'));
      const wakeUps = '1 while wake-ups go through the broker';
      this.gauge('order_timeout_message_path_up', wakeUps, ({ messagePath }) => Number(messagePath === 'up'));
    }
    const unmatched = 'Unmatched payments that wait for a person';
    this.gauge('order_timeout_unmatched_payments', unmatched, (found) => found.unmatched);
    const inUse = '1 for the delay transport in use';
    this.gauge('order_timeout_transport', inUse, ({ transport }) => onesFor(transport ? [transport] : []), 'name');
    const parked = 'Timeouts that are parked and wait for a person';
    this.gauge('order_timeout_parked', parked, (found) => found.parked, 'kind');
    const overdue = 'Seconds that the oldest due timeout has been overdue; absent while nothing is overdue';
    this.gauge('order_timeout_overdue_oldest_seconds', overdue, (found) => found.overdue, 'kind');
    const undecided =
      'Seconds since the deadline of the oldest timeout that is still being looked up; absent without one';
    this.gauge('order_timeout_undecided_oldest_seconds', undecided, (found) => found.undecided, 'kind');
    const paused = '1 for each kind and each provider that is paused';
    this.gauge('order_timeout_paused', paused, (found) => onesFor(found.paused), 'what');
  }

  /** @param read the value, or one for each value of the label; undefined: the last one stays */
  private gauge(name: string, help: string, read: (found: Found) => GaugeValue | undefined, label = ''): void {
    const gauge: Gauge = new Gauge({
      ...{ name, help, labelNames: label ? [label] : [], registers: [this.registry] },
      collect: async () => {
        const value = read(await this.lookOnce());
        if (typeof value === 'number') return gauge.set(value);
        if (value) gauge.reset();
        for (const [labeled, one] of value ?? []) gauge.set({ [label]: labeled }, one);
      },
    });
  }

  /** A scrape collects all gauges at once. The first one reads the state, and the others wait for it. */
  private lookOnce(): Promise<Found> {
    this.look ??= readState(this.state).finally(() => (this.look = undefined));
    return this.look;
  }
}

type GaugeValue = number | ReadonlyMap<string, number>;

type Found = Awaited<ReturnType<typeof readState>>;

async function readState(state: ServiceState) {
  const [isDatabaseUp, backlog, parked, overdue, undecided, unmatched] = await Promise.all([
    state.isDatabaseUp(),
    state.backlog(),
    state.parked(),
    state.overdue(),
    state.undecided(),
    state.unmatched(),
  ]);
  return { ...state.now(), paused: state.paused, isDatabaseUp, backlog, parked, overdue, undecided, unmatched };
}

function onesFor(names: readonly string[]): ReadonlyMap<string, number> {
  return new Map(names.map((name) => [name, 1]));
}

/** In seconds: from the precision of a held wake-up to the interval of the sweep and beyond. */
const LATENESS_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

export class EngineMetrics implements TimeoutObserver {
  private readonly lateness: Histogram<'kind' | 'cause'>;
  private readonly settledTotal: Counter<'kind' | 'cause' | 'outcome'>;
  private readonly awayTotal: Counter<'kind'>;
  private readonly undecodableTotal: Counter<'kind'>;
  private readonly missedTotal: Counter<'kind'>;
  private readonly switches: Counter<'name'>;

  /** @param kinds what this process handles: their counters begin at 0, so that a first increase is seen */
  constructor(registry: Registry, kinds: () => readonly string[] = () => []) {
    const byKind = (name: string, help: string): Counter<'kind'> =>
      counter(registry, name, help, ['kind'], (own) => kinds().forEach((kind) => own.inc({ kind }, 0)));
    this.lateness = new Histogram({
      name: 'order_timeout_lateness_seconds',
      help: 'Seconds from the deadline to the commit of its effect, by kind and cause',
      labelNames: ['kind', 'cause'],
      buckets: LATENESS_BUCKETS,
      registers: [registry],
    });
    const settled = 'Timeouts that a transaction handled, by kind, cause, and outcome';
    this.settledTotal = counter(registry, 'order_timeout_settled_total', settled, ['kind', 'cause', 'outcome']);
    const away = 'Runs whose result could not be written, because the database was unavailable';
    this.awayTotal = byKind('order_timeout_away_total', away);
    const undecodable = 'Wake-ups that could not be read and were parked on the broker';
    this.undecodableTotal = byKind('order_timeout_undecodable_total', undecodable);
    const missed =
      'Timeouts that the sweep handled while the message path was up, because their wake-ups were lost or stalled';
    this.missedTotal = byKind('order_timeout_missed_wake_ups_total', missed);
    const switches = 'Times that a delay transport was put into use';
    this.switches = counter(registry, 'order_timeout_transport_switches_total', switches, ['name']);
  }

  settled(kind: string, rows: readonly SettledRow[], nowMs: number): void {
    for (const { due, outcome } of rows) {
      this.settledTotal.inc({ kind, cause: due.cause, outcome: outcome.type });
      // Only finished timeouts: a wait for a provider says nothing about punctuality.
      if (outcome.type !== 'done') continue;
      this.lateness.observe({ kind, cause: due.cause }, Math.max(0, nowMs - due.dueAt.getTime()) / 1_000);
    }
  }

  unavailable(kind: string): void {
    this.awayTotal.inc({ kind });
  }

  undecodable(kind: string): void {
    this.undecodableTotal.inc({ kind });
  }

  wakeUpsMissed(kind: string, count: number): void {
    this.missedTotal.inc({ kind }, count);
  }

  transport(name: string): void {
    this.switches.inc({ name });
  }
}

const BREAKER_LEVEL: Readonly<Record<BreakerState, number>> = { closed: 0, 'half-open': 1, open: 2 };

const SOURCES: readonly UntrustedSource[] = ['answer', 'notification'];

export class PaymentMetrics implements PaymentObserver {
  private readonly untrustedTotal: Counter<'provider' | 'source'>;
  private readonly breaker: Gauge<'provider'>;

  constructor(
    registry: Registry,
    private readonly providers: PaymentProviders,
  ) {
    const untrusted =
      'Forged, unsigned, or misdirected answers and notifications of payment providers. None changed an order';
    const begin = (): void => this.beginAtZero();
    this.untrustedTotal = counter(registry, 'order_timeout_untrusted_total', untrusted, ['provider', 'source'], begin);
    this.breaker = new Gauge({
      name: 'order_timeout_provider_breaker',
      help: 'Circuit breaker of a payment provider: 0 closed, 1 half-open, 2 open (the provider is not called)',
      labelNames: ['provider'],
      registers: [registry],
      collect: () => this.refresh(),
    });
  }

  untrusted(provider: string, source: UntrustedSource): void {
    this.untrustedTotal.inc({ provider, source });
  }

  /** A counter that is absent until its first event hides that event from `increase`. */
  private beginAtZero(): void {
    for (const provider of this.providers.names())
      for (const source of SOURCES) this.untrustedTotal.inc({ provider, source }, 0);
  }

  private refresh(): void {
    for (const name of this.providers.names()) {
      const provider = this.providers.get(name);
      if (provider instanceof ResilientProvider)
        this.breaker.set({ provider: name }, BREAKER_LEVEL[provider.breakerState]);
    }
  }
}

export class PurgeMetrics {
  constructor(registry: Registry, purge: Purge) {
    const help = 'Finished orders (with their data), idempotency keys, and settled payments that were deleted';
    counter(registry, 'order_timeout_purged_total', help, ['what'], (own) => {
      own.reset();
      const { orders, idempotencyKeys, settledMoney } = purge.totals;
      own.inc({ what: 'orders' }, orders);
      own.inc({ what: 'idempotency-keys' }, idempotencyKeys);
      own.inc({ what: 'settled-money' }, settledMoney);
    });
  }
}

/** @param collect runs at each scrape, before the counter is read */
function counter<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly Label[],
  collect?: (own: Counter<Label>) => void,
): Counter<Label> {
  const own: Counter<Label> = new Counter({
    ...{ name, help, labelNames, registers: [registry] },
    ...(collect && { collect: () => collect(own) }),
  });
  return own;
}
