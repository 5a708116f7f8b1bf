import { type EntityManager } from 'typeorm';
import { type OutboxEntry } from '../../outbox';
import { type TimeoutScheduler } from '../../timeouts';
import { type OrderEventType } from '../order-events';
import { type OrderAudience } from './order-audience';
import { type OrderEvent } from './order-event';

interface Joined {
  readonly types: ReadonlySet<string>;
  readonly call: (events: OrderEvent[], tx: EntityManager) => unknown;
}

interface Subscription {
  readonly types: ReadonlySet<string>;
  readonly kind: string;
}

/** Who hears of which order events in this process. */
export class OrderListeners implements OrderAudience {
  private readonly joined: Joined[] = [];
  private readonly subscriptions: Subscription[] = [];

  constructor(private readonly scheduler: TimeoutScheduler) {}

  /** The kinds of timeouts whose payload is an event that is not delivered. */
  get kinds(): readonly string[] {
    return this.subscriptions.map(({ kind }) => kind);
  }

  /** Calls `call` in the transactions that write these events. */
  join(types: readonly OrderEventType[], call: Joined['call']): void {
    this.joined.push({ types: new Set(types), call });
  }

  /** Schedules a timeout of this kind for each of these events. Its key is the event's id, and its payload the event. */
  subscribe(types: readonly OrderEventType[], kind: string): void {
    this.subscriptions.push({ types: new Set(types), kind });
  }

  async tell(tx: EntityManager, events: readonly OutboxEntry[]): Promise<void> {
    for (const { types, call } of this.joined) {
      const heard = events.filter(({ routingKey }) => types.has(routingKey));
      if (heard.length > 0)
        await call(
          heard.map(({ body }) => body as unknown as OrderEvent),
          tx,
        );
    }
    const deliveries = this.subscriptions.flatMap(({ types, kind }) =>
      events.filter(({ routingKey }) => types.has(routingKey)).map((event) => deliveryOf(event, kind)),
    );
    await this.scheduler.schedule(deliveries, { tx });
  }
}

function deliveryOf({ id, body, traceparent }: OutboxEntry, kind: string) {
  return { kind, key: id, afterMs: 0, payload: body, ...(traceparent === undefined ? {} : { traceparent }) };
}
