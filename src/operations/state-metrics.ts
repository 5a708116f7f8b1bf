import { Gauge, type Registry } from 'prom-client';
import { type ServiceState } from './service-state';

/** Gauges that are read at each scrape. */
export class StateMetrics {
  private readonly rows: Gauge;
  private readonly oldest: Gauge;
  private readonly parkedRows: Gauge;
  private readonly databaseUp: Gauge;
  /** Absent without a broker, so that no alert fires. */
  private readonly brokerUp: Gauge | undefined;
  private readonly messagePathUp: Gauge | undefined;
  private readonly transport: Gauge<'name'>;
  private readonly parked: Gauge<'kind'>;
  private readonly overdue: Gauge<'kind'>;
  private readonly undecided: Gauge<'kind'>;
  private readonly paused: Gauge<'what'>;
  private readonly unmatched: Gauge;
  /** The read that the gauges of one scrape share. */
  private look: Promise<void> | undefined;

  constructor(
    registry: Registry,
    private readonly state: ServiceState,
  ) {
    const common = { registers: [registry], collect: () => this.lookOnce() };
    const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, ...common });
    this.rows = gauge('order_timeout_outbox_rows', 'Messages that should be on the broker by now');
    this.oldest = gauge('order_timeout_outbox_oldest_seconds', 'Seconds that the oldest of them has been waiting');
    this.parkedRows = gauge('order_timeout_outbox_parked', 'Messages that cannot be sent and wait for a person');
    this.databaseUp = gauge('order_timeout_database_up', '1 while the database answers and accepts writes');
    if (state.hasBroker) {
      this.brokerUp = gauge('order_timeout_broker_up', '1 while messages flow both ways');
      this.messagePathUp = gauge('order_timeout_message_path_up', '1 while wake-ups go through the broker');
    }
    this.unmatched = gauge('order_timeout_unmatched_payments', 'Unmatched payments that wait for a person');
    const byLabel = <L extends string>(label: L, name: string, help: string): Gauge<L> =>
      new Gauge({ name, help, labelNames: [label], ...common });
    this.transport = byLabel('name', 'order_timeout_transport', '1 for the delay transport in use');
    this.parked = byLabel('kind', 'order_timeout_parked', 'Timeouts that are parked and wait for a person');
    this.overdue = byLabel(
      'kind',
      'order_timeout_overdue_oldest_seconds',
      'Seconds that the oldest due timeout has been overdue; absent while nothing is overdue',
    );
    this.undecided = byLabel(
      'kind',
      'order_timeout_undecided_oldest_seconds',
      'Seconds since the deadline of the oldest timeout that is still being looked up; absent without one',
    );
    this.paused = byLabel('what', 'order_timeout_paused', '1 for each kind and each provider that is paused');
  }

  /** A scrape collects all gauges at once. The first one reads the state, and the others wait for it. */
  private lookOnce(): Promise<void> {
    this.look ??= this.refresh().finally(() => (this.look = undefined));
    return this.look;
  }

  /** While the database is unavailable, the gauges of the outbox keep their last values. */
  private async refresh(): Promise<void> {
    const [isDatabaseUp, backlog, parked, overdue, undecided, unmatched] = await Promise.all([
      this.state.isDatabaseUp(),
      this.state.backlog(),
      this.state.parked(),
      this.state.overdue(),
      this.state.undecided(),
      this.state.unmatched(),
    ]);
    setByKind(this.parked, parked);
    setByKind(this.overdue, overdue);
    setByKind(this.undecided, undecided);
    if (unmatched !== undefined) this.unmatched.set(unmatched);
    this.databaseUp.set(isDatabaseUp ? 1 : 0);
    if (backlog) {
      this.rows.set(backlog.rows);
      this.oldest.set(backlog.oldestSeconds);
      this.parkedRows.set(backlog.parked);
    }
    const { broker, messagePath, transport } = this.state.now();
    this.brokerUp?.set(broker === 'up' ? 1 : 0);
    this.messagePathUp?.set(messagePath === 'up' ? 1 : 0);
    this.paused.reset();
    for (const what of this.state.paused) this.paused.set({ what }, 1);
    this.transport.reset();
    if (transport) this.transport.set({ name: transport }, 1);
  }
}

/** Without an answer from the database, the last values stay. */
function setByKind(gauge: Gauge<'kind'>, values: ReadonlyMap<string, number> | undefined): void {
  if (!values) return;
  gauge.reset();
  for (const [kind, value] of values) gauge.set({ kind }, value);
}
