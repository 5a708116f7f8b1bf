import { type EntityManager } from 'typeorm';
import { type JsonObject } from '../../outbox';
import { type LockedOrder } from '../order';
import { type AttemptKey, type PaidSource, type PaymentAttempt, type PaymentNames } from '../payment-attempt';
import { type Transition } from '../transition';

/** A batch of orders as read under its locks. */
export interface LockedBatch {
  /** The database's time, read after the locks were taken. */
  readonly now: Date;
  readonly orders: ReadonlyMap<string, LockedOrder>;
  /** Payments of these orders that were reported before the orders were placed or their attempts registered. */
  readonly adoptable: readonly AdoptablePayment[];
  /** Orders that another transaction has locked. Only with `skip-locked`. */
  readonly busy: ReadonlySet<string>;
}

/** A payment that was reported before its order or attempt existed. `id` is its row in unmatched_payment. */
export interface AdoptablePayment extends AttemptKey {
  readonly id: string;
  readonly orderId: string;
  readonly amount: bigint;
  readonly currency: string;
  readonly source: PaidSource;
  readonly evidence: Readonly<Record<string, unknown>>;
}

/** The new state of an attempt of a locked order. `evidence` null: the stored evidence stays. */
export interface AttemptWrite {
  readonly attempt: PaymentAttempt;
  readonly evidence: JsonObject | null;
}

/** Everything that is known about payments under any of their names. */
export interface SamePayments {
  readonly attempts: readonly PaymentAttempt[];
  /** Ids of unmatched money, kept for an unknown order, that is the same payment. */
  readonly unmatched: readonly string[];
}

/**
 * Everything that the closing needs from the order tables. The built-in store uses the package's tables. A host with
 * its own order table binds its own store to ORDER_STORE. Unless stated otherwise, methods run in the given
 * transaction.
 */
export interface OrderStore {
  /** Locks these orders, or those that no other transaction has locked, and then reads them with their attempts. */
  lock(tx: EntityManager, ids: readonly string[], mode: 'wait' | 'skip-locked'): Promise<LockedBatch>;
  /** Books the adoptable payments of the batch on their orders, as paid attempts. Returns the changed batch. */
  adoptUnmatched(tx: EntityManager, batch: LockedBatch): Promise<LockedBatch>;
  /** Writes attempts of orders that this transaction has locked. */
  writeAttempts(tx: EntityManager, writes: readonly AttemptWrite[]): Promise<void>;
  /** Writes the attempt of a payment that was not registered. False: another order has it. */
  insertPaid(tx: EntityManager, write: AttemptWrite): Promise<boolean>;
  /** Returns everything that is known about these payments, for any order and under any of their names. */
  samePayments(tx: EntityManager, names: readonly PaymentNames[]): Promise<SamePayments>;
  /** Records that this unmatched money is now booked under another name. */
  closeUnmatched(tx: EntityManager, ids: readonly string[]): Promise<void>;
  /**
   * Writes these transitions: status and version (compare-and-set), history, stock (released on CLOSED and CANCELLED,
   * sold on PAID), and event. Must refuse to write CLOSED or CANCELLED while any attempt of the order could take money,
   * or has money that is not being refunded.
   *
   * @returns ids of the changed orders; nothing is written for the others.
   */
  apply(tx: EntityManager, transitions: readonly Transition[]): Promise<ReadonlySet<string>>;
  /** Stores money that no order takes, and reports it as `order.payment_late`, once per attempt and reason. */
  keepUnmatched(tx: EntityManager, money: readonly UnmatchedMoney[]): Promise<void>;
  /** Returns the wanted attempts of one order and the database's time. Opens no transaction. */
  attemptsOf(orderId: string, isWanted: (attempt: PaymentAttempt) => boolean): Promise<AttemptsNow>;
  /** Returns the attempt that a provider refers to by any of its names. Opens no transaction. */
  findAttempt(names: PaymentNames): Promise<PaymentAttempt | undefined>;
  /**
   * Locks the stock of all these orders in one global order. Called before the first `apply` or `reserveAgain` of a
   * transaction that revives one of several orders.
   */
  lockStock(tx: EntityManager, orderIds: readonly string[]): Promise<void>;
  /**
   * Locks the stock of these orders without waiting, and returns the orders whose stock another transaction has locked.
   * Without this method, orders that wait for stock are settled one by one instead of in batches.
   */
  heldStock?(tx: EntityManager, orderIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Reserves the goods of a closed order again. False: they are sold, and nothing was written. */
  reserveAgain(tx: EntityManager, orderId: string): Promise<boolean>;
  /** Records on attempts where their money is. Throws if the table of transitions does not allow it, which is a bug. */
  setAttemptStatus(tx: EntityManager, keys: readonly AttemptKey[], status: 'REFUNDING' | 'REFUNDED'): Promise<void>;
}

/** Attempts, and the database's time when they were read. */
export interface AttemptsNow {
  readonly now: Date;
  readonly attempts: readonly PaymentAttempt[];
}

/** Why money could not be booked on its order. */
export type UnmatchedReason =
  'late' | 'surplus' | 'unknown-order' | 'attempt-mismatch' | 'amount-mismatch' | 'currency-mismatch';

/**
 * How such money is handled.
 * - `kept`: not automatically; a person must decide.
 * - `waiting`: it is not enough for its order, whose deadline decides.
 * - `revived`: it made its closed order PAID.
 * - `refunding`: its refund has begun.
 * - `adopted`: its order was placed later, or has it under another name.
 * - `completed`: the rest arrived, and its order is paid.
 * - `settled`: a person has handled it.
 */
export type UnmatchedHandling = 'kept' | 'waiting' | 'revived' | 'refunding' | 'adopted' | 'completed' | 'settled';

/** A payment that belongs to no order, or arrived too late. */
export interface UnmatchedMoney {
  readonly reason: UnmatchedReason;
  readonly handling: UnmatchedHandling;
  /** Null: its attempt was not registered. */
  readonly orderId: string | null;
  readonly provider: string;
  readonly reference: string;
  /** Null: the provider has no merchants. */
  readonly merchantAccount: string | null;
  readonly amount: bigint;
  readonly currency: string;
  readonly transactionId: string | null;
  readonly source: PaidSource;
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly now: Date;
  readonly traceparent?: string | undefined;
}

/** Injection token of the OrderStore. */
export const ORDER_STORE = Symbol('order-timeout:order-store');
