import { type EntityManager } from 'typeorm';
import { type AttemptFinding } from './attempt-finding';
import { type LockedOrder } from './order';
import { type PaymentAttempt } from './payment-attempt';
import { type Transition } from './transition';

/** What a batch of orders looks like under its locks. */
export interface LockedBatch {
  /** The database's time, read after the locks were taken. */
  readonly now: Date;
  readonly orders: ReadonlyMap<string, LockedOrder>;
  /** Orders that another transaction holds; only with `skipLocked`. */
  readonly busy: ReadonlySet<string>;
}

/**
 * All that the close pipeline needs of the order tables. The built-in one works on ours; a host with its own order
 * table binds its own to ORDER_STORE. Every method runs in the given transaction.
 */
export interface OrderStore {
  /** Locks these orders, or those of them that nobody else holds, and reads them with their attempts after that. */
  lock(tx: EntityManager, ids: readonly string[], mode: 'wait' | 'skip-locked'): Promise<LockedBatch>;
  /** Writes what was found out about attempts that are not final yet. Idempotent. */
  recordFindings(tx: EntityManager, findings: readonly AttemptFinding[]): Promise<void>;
  /**
   * Writes these steps: status and version (compare-and-set), history, stock (given back on CLOSED and CANCELLED, sold
   * on PAID) and event. Must refuse to write CLOSED or CANCELLED while any attempt of the order is not CLOSED.
   *
   * @returns ids of the orders that were moved; nothing at all is written for the others.
   */
  apply(tx: EntityManager, transitions: readonly Transition[]): Promise<ReadonlySet<string>>;
  /** Keeps money that no order takes, and reports it as `order.payment_late`, once per attempt and reason. */
  keepUnexpected(tx: EntityManager, money: readonly UnexpectedMoney[]): Promise<void>;
  /** Attempts of one order that could still take money, and the database's time; opens no transaction. */
  openAttempts(orderId: string): Promise<{ readonly now: Date; readonly attempts: readonly PaymentAttempt[] }>;
}

/** Why money could not be booked on its order. */
export type UnexpectedReason =
  'late' | 'surplus' | 'unknown-order' | 'attempt-mismatch' | 'amount-mismatch' | 'currency-mismatch';

/** A payment that arrived and fits no order, or arrived too late. */
export interface UnexpectedMoney {
  readonly reason: UnexpectedReason;
  readonly orderId: string;
  readonly provider: string;
  readonly reference: string;
  readonly amount: bigint;
  readonly currency: string;
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly now: Date;
  readonly traceparent?: string | undefined;
}

/** Injection token of the OrderStore. */
export const ORDER_STORE = Symbol('order-timeout:order-store');
