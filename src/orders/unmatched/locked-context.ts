import { type EntityManager } from 'typeorm';
import { type ActionContext } from '../transition-cause';

/** A transaction that holds an order's lock. */
export interface LockedContext {
  readonly tx: EntityManager;
  readonly by: ActionContext;
  /** The database's time in this transaction. */
  readonly now: Date;
  /** The attempts were looked up just now. Unconfirmed payments are kept for a person. @default false */
  readonly verified?: boolean;
  /** The attempts are being looked up, and one more look-up would begin the back-off anew. @default false */
  readonly isAsking?: boolean;
}
