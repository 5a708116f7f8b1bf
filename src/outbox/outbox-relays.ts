import { type DataSource } from 'typeorm';
import { type Clock } from '../clock';
import { type ConfirmedPublisher } from '../rabbit';
import { type OutboxRoute } from './outbox-entry';
import { OutboxRelay, type OutboxRouter } from './outbox-relay';

/** How the rows of one route leave. */
export interface OutboxLane {
  readonly publisher: ConfirmedPublisher;
  /** Undefined while the route cannot be served: its rows stay in the table. */
  router(this: void): OutboxRouter | undefined;
}

interface RelaysPlan {
  readonly dataSource: DataSource;
  readonly schema: string;
  readonly lanes: Readonly<Record<OutboxRoute, OutboxLane>>;
}

/** A relay for each route, with a publisher of its own, so that neither holds up the other. */
export class OutboxRelays {
  private readonly relays: readonly OutboxRelay[];

  constructor({ dataSource, schema, lanes }: RelaysPlan, clock: Clock) {
    const { event, 'wake-up': wakeUp } = lanes;
    this.relays = [
      new OutboxRelay({ dataSource, schema, route: 'event', ...event }, clock),
      new OutboxRelay({ dataSource, schema, route: 'wake-up', ...wakeUp }, clock),
    ];
  }

  start(): void {
    for (const relay of this.relays) relay.start();
  }

  /** Resolves when only late messages are in flight. */
  async stop(): Promise<void> {
    await Promise.all(this.relays.map((relay) => relay.stop()));
  }

  /** Publishes at most one batch of each route and returns how many messages were confirmed. Never rejects. */
  async runOnce(): Promise<number> {
    const counts = await Promise.all(this.relays.map((relay) => relay.runOnce().catch(() => 0)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Call it after the publishers have closed: writes down what became of late messages. */
  async finishLate(): Promise<void> {
    await Promise.all(this.relays.map((relay) => relay.finishLate()));
  }
}
