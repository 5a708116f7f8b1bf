import { Gauge, type Registry } from 'prom-client';
import { type ServiceState } from './service-state';

/** How things stand at the moment of the scrape. */
export class StateMetrics {
  private readonly rows: Gauge;
  private readonly oldest: Gauge;
  private readonly databaseUp: Gauge;
  private readonly brokerUp: Gauge;
  private readonly messagePathUp: Gauge;
  private readonly transport: Gauge<'name'>;
  private readonly parked: Gauge<'kind'>;

  constructor(
    registry: Registry,
    private readonly state: ServiceState,
  ) {
    const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers: [registry] });
    this.rows = gauge('order_timeout_outbox_rows', 'Rows that should be on the broker by now');
    this.oldest = gauge('order_timeout_outbox_oldest_seconds', 'How long the oldest of them has been waiting');
    this.databaseUp = gauge('order_timeout_database_up', '1 while the database answers');
    this.brokerUp = gauge('order_timeout_broker_up', '1 while messages flow both ways');
    this.messagePathUp = gauge('order_timeout_message_path_up', '1 while wake-ups travel by the broker');
    this.transport = new Gauge({
      name: 'order_timeout_transport',
      help: '1 for the delay transport in use',
      labelNames: ['name'],
      registers: [registry],
    });
    this.parked = new Gauge({
      name: 'order_timeout_parked',
      help: 'Timeouts that were given up and wait for a person',
      labelNames: ['kind'],
      registers: [registry],
    });
  }

  /** Before each scrape. While the database is away the outbox keeps its last values. */
  async refresh(): Promise<void> {
    const [backlog, parked] = await Promise.all([this.state.backlog(), this.state.parked()]);
    this.setParked(parked);
    this.databaseUp.set(backlog ? 1 : 0);
    if (backlog) {
      this.rows.set(backlog.rows);
      this.oldest.set(backlog.oldestSeconds);
    }
    const { broker, messagePath, transport } = this.state.now();
    this.brokerUp.set(broker === 'up' ? 1 : 0);
    this.messagePathUp.set(messagePath === 'up' ? 1 : 0);
    this.transport.reset();
    if (transport) this.transport.set({ name: transport }, 1);
  }

  private setParked(parked: ReadonlyMap<string, number> | undefined): void {
    if (!parked) return;
    this.parked.reset();
    for (const [kind, count] of parked) this.parked.set({ kind }, count);
  }
}
