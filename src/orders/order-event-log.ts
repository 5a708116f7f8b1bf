import { type EntityManager } from 'typeorm';
import { type Outbox, type OutboxEntry } from '../outbox';
import { type OrderAudience } from './listeners/order-audience';

/** Where events go that no status or money statement writes: to the outbox and to the listeners. */
export class OrderEventLog {
  constructor(
    private readonly outbox: Outbox,
    private readonly audience: OrderAudience,
  ) {}

  async append(tx: EntityManager, events: readonly OutboxEntry[]): Promise<void> {
    await this.outbox.append(tx, events);
    await this.audience.tell(tx, events);
  }
}
