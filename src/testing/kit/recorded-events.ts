import { type DataSource } from 'typeorm';
import { takeEvents } from '../../outbox';

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
