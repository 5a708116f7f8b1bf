import { type OrderStatus } from './order-status';
import { type PaymentAttempt } from './payment-attempt';

/** Why an order is on its way to an end without payment. */
export type ClosingReason = 'expired' | 'cancelled';

/** An order as it stands in its row. Money in minor units of `currency`. */
export interface Order {
  readonly id: string;
  readonly merchantId: string;
  readonly status: OrderStatus;
  /** Grows by one with every history row. */
  readonly version: number;
  readonly amount: bigint;
  readonly currency: string;
  /** The buyer's deadline; whole milliseconds. */
  readonly expiresAt: Date;
  /** False: the deadline passes without effect until somebody decides. */
  readonly autoClose: boolean;
  /** How long after `expiresAt` we begin to close, so that a payment in its last second is booked first. */
  readonly graceMs: number;
  /** Reminders, milliseconds before `expiresAt`. */
  readonly reminderOffsetsMs: readonly number[];
  readonly closingReason: ClosingReason | null;
  readonly createdAt: Date;
  readonly closedAt: Date | null;
  readonly paidAt: Date | null;
}

/** An order locked in a transaction, with its attempts as they were read under that lock. */
export interface LockedOrder extends Order {
  readonly attempts: readonly PaymentAttempt[];
}
