import { type OrderStatus } from './order-status';
import { type PaymentAttempt } from './payment-attempt';

/** Why an order ends without payment. */
export type ClosingReason = 'expired' | 'cancelled';

/** An order as stored in its row. Money is in minor units of `currency`. */
export interface Order {
  readonly id: string;
  readonly merchantId: string;
  readonly status: OrderStatus;
  /** Grows by one with every history row. */
  readonly version: number;
  readonly amount: bigint;
  readonly currency: string;
  /** The buyer's deadline, in whole milliseconds. */
  readonly expiresAt: Date;
  /** False: the deadline has no effect until a person decides. */
  readonly autoClose: boolean;
  /** How long after `expiresAt` the closing begins, so that a payment in the last second is booked first. */
  readonly graceMs: number;
  /** Reminders, milliseconds before `expiresAt`. */
  readonly reminderOffsetsMs: readonly number[];
  readonly closingReason: ClosingReason | null;
  readonly createdAt: Date;
  readonly closedAt: Date | null;
  readonly paidAt: Date | null;
  /** Its personal data was erased, and with it the names of its payments. @default false */
  readonly isErased?: boolean;
}

/** An order that is locked in a transaction, with its attempts as read under that lock. */
export interface LockedOrder extends Order {
  readonly attempts: readonly PaymentAttempt[];
}
