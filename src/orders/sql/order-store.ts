import { type EntityManager } from 'typeorm';
import { type JsonObject } from '../../outbox';
import { type LockedOrder } from '../order';
import { type AttemptKey, type PaidSource, type PaymentAttempt, type PaymentNames } from '../payment-attempt';
import { type Transition } from '../transition';

/** What a batch of orders looks like under its locks. */
export interface LockedBatch {
  /** The database's time, read after the locks were taken. */
  readonly now: Date;
  readonly orders: ReadonlyMap<string, LockedOrder>;
  /** Payments of these orders that were reported before the orders were placed, or their attempts registered. */
  readonly unclaimed: readonly UnclaimedMoney[];
  /** Orders that another transaction holds; only with `skipLocked`. */
  readonly busy: ReadonlySet<string>;
}

/** A payment that was reported before there was an order, or an attempt, for it; its row in orphan_payment has this id. */
export interface UnclaimedMoney extends AttemptKey {
  readonly id: string;
  readonly orderId: string;
  readonly amount: bigint;
  readonly currency: string;
  readonly source: PaidSource;
  readonly evidence: Readonly<Record<string, unknown>>;
}

/** An attempt of a locked order as it is to be from now on. `evidence` null: what it has stays. */
export interface AttemptWrite {
  readonly attempt: PaymentAttempt;
  readonly evidence: JsonObject | null;
}

/** What is known of payments under any of their names. */
export interface SamePayments {
  readonly attempts: readonly PaymentAttempt[];
  /** Ids of unmatched money, kept for an unknown order, that is the same payment. */
  readonly unmatched: readonly string[];
}

/**
 * All that the close pipeline needs of the order tables. The built-in one works on ours; a host with its own order
 * table binds its own to ORDER_STORE. Every method runs in the given transaction.
 */
export interface OrderStore {
  /** Locks these orders, or those of them that nobody else holds, and reads them with their attempts after that. */
  lock(tx: EntityManager, ids: readonly string[], mode: 'wait' | 'skip-locked'): Promise<LockedBatch>;
  /** Books the unclaimed payments of the batch on their orders, as paid attempts; returns the batch so changed. */
  adoptUnclaimed(tx: EntityManager, batch: LockedBatch): Promise<LockedBatch>;
  /** Writes attempts of orders that this transaction has locked. */
  writeAttempts(tx: EntityManager, writes: readonly AttemptWrite[]): Promise<void>;
  /** Writes the attempt of a payment that nobody had registered. False: another order has it. */
  insertPaid(tx: EntityManager, write: AttemptWrite): Promise<boolean>;
  /** Everything that is known of these payments, of whichever order, under any of their names. */
  samePayments(tx: EntityManager, names: readonly PaymentNames[]): Promise<SamePayments>;
  /** Notes that this unmatched money is booked now, under another name. */
  closeUnmatched(tx: EntityManager, ids: readonly string[]): Promise<void>;
  /**
   * Writes these steps: status and version (compare-and-set), history, stock (given back on CLOSED and CANCELLED, sold
   * on PAID) and event. Must refuse to write CLOSED or CANCELLED while any attempt of the order could take money, or
   * has some that is not on its way back.
   *
   * @returns ids of the orders that were moved; nothing at all is written for the others.
   */
  apply(tx: EntityManager, transitions: readonly Transition[]): Promise<ReadonlySet<string>>;
  /** Keeps money that no order takes, and reports it as `order.payment_late`, once per attempt and reason. */
  keepUnexpected(tx: EntityManager, money: readonly UnmatchedMoney[]): Promise<void>;
  /** The attempts of one order that are wanted, and the database's time; opens no transaction. */
  attemptsOf(orderId: string, isWanted: (attempt: PaymentAttempt) => boolean): Promise<AttemptsNow>;
  /** The attempt that a provider speaks of, by whichever of its names; opens no transaction. */
  findAttempt(names: PaymentNames): Promise<PaymentAttempt | undefined>;
  /**
   * Locks the stock of all these orders, in one global order. Before the first of `apply` and `reserveAgain` where a
   * transaction revives an order, and not only that one.
   */
  lockStock(tx: EntityManager, orderIds: readonly string[]): Promise<void>;
  /**
   * Locks the stock of these orders without waiting, and returns the orders whose stock another transaction holds. Without
   * this method, orders that wait for stock are settled one by one, and not in batches.
   */
  heldStock?(tx: EntityManager, orderIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Takes the goods of a closed order from stock once more. False: they are gone, and nothing was written. */
  reserveAgain(tx: EntityManager, orderId: string): Promise<boolean>;
  /** Notes on attempts where their money is. */
  setAttemptStatus(tx: EntityManager, keys: readonly AttemptKey[], status: 'REFUNDING' | 'REFUNDED'): Promise<void>;
}

/** Attempts and the database's time when they were read. */
export interface AttemptsNow {
  readonly now: Date;
  readonly attempts: readonly PaymentAttempt[];
}

/** Why money could not be booked on its order. */
export type UnmatchedReason =
  'late' | 'surplus' | 'unknown-order' | 'attempt-mismatch' | 'amount-mismatch' | 'currency-mismatch';

/**
 * What is done about such money without anybody's help; `kept`: nothing, a person has to look · `waiting`: it is
 * not enough for its order, whose deadline decides · `adopted`: its order was placed later, or has it under another name ·
 * `completed`: the rest came, and its order is paid · `settled`: a person has dealt with it.
 */
export type UnmatchedHandling = 'kept' | 'waiting' | 'revived' | 'refunding' | 'adopted' | 'completed' | 'settled';

/** A payment that arrived and fits no order, or arrived too late. */
export interface UnmatchedMoney {
  readonly reason: UnmatchedReason;
  readonly handling: UnmatchedHandling;
  /** Null: of an attempt that nobody registered. */
  readonly orderId: string | null;
  readonly provider: string;
  readonly reference: string;
  /** Null: the provider knows no merchants. */
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
