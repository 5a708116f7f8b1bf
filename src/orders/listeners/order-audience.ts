import { type EntityManager } from 'typeorm';
import { type OutboxEntry } from '../../outbox';

/** Hears of order events in the transaction that writes them. */
export interface OrderAudience {
  /** An error rolls the transaction back. */
  tell(tx: EntityManager, events: readonly OutboxEntry[]): Promise<void>;
}

/** For an application without listeners. */
export const NOBODY: OrderAudience = { tell: () => Promise.resolve() };
