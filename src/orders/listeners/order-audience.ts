import { type EntityManager } from 'typeorm';
import { type OutboxEntry } from '../../outbox';

/** Hears of order events in the transaction that writes them. */
export interface OrderAudience {
  /** An error rolls the transaction back. */
  tell(tx: EntityManager, events: readonly OutboxEntry[]): Promise<void>;
}

/** What becomes of order events. */
export interface EventReporting {
  readonly audience: OrderAudience;
  /** False: there is no broker, so the outbox gets no rows. */
  readonly writesEvents: boolean;
}

/** For an application without listeners. */
export const UNHEARD: EventReporting = { audience: { tell: () => Promise.resolve() }, writesEvents: true };
