import { type EntityManager } from 'typeorm';
import { type ActionContext } from '../transition-cause';

/** A transaction that holds an order's lock. */
export interface LateContext {
  readonly tx: EntityManager;
  readonly by: ActionContext;
  /** The database's time in it. */
  readonly now: Date;
  /** The providers were asked just now: what they did not confirm is kept for a person. @default false */
  readonly verified?: boolean;
  /** The providers are being asked, and will be asked again: nobody else has to see to it. @default false */
  readonly isAsking?: boolean;
}
