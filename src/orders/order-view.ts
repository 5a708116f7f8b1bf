import { type OrderStatus } from './order-status';
import { type AttemptStatus } from './attempt-status';

/** A line of an order. `unitAmount` is in minor units. */
export interface OrderLineView {
  readonly sku: string;
  readonly quantity: number;
  readonly unitAmount: number;
}

/** The public view of an attempt. */
export interface AttemptView {
  readonly provider: string;
  readonly reference: string;
  readonly status: AttemptStatus;
  readonly amount: number;
  readonly currency: string;
  readonly merchantAccount?: string;
  readonly timeExpire?: Date;
  readonly createdAt: Date;
  readonly paidAmount?: number;
  readonly paidAt?: Date;
  readonly transactionId?: string;
}

/** The public view of an order. Amounts are integers in minor units. */
export interface OrderView {
  readonly id: string;
  readonly merchantId: string;
  readonly status: OrderStatus;
  readonly version: number;
  readonly amount: number;
  readonly currency: string;
  readonly expiresAt: Date;
  /** The deadline has passed by the database's clock, whether or not it was processed. */
  readonly expired: boolean;
  /** Whether a new payment attempt is accepted. */
  readonly payable: boolean;
  readonly autoClose: boolean;
  readonly lines: readonly OrderLineView[];
  readonly attempts: readonly AttemptView[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
  readonly paidAt?: Date;
  readonly closedAt?: Date;
}

interface Deadline {
  readonly status: OrderStatus;
  readonly expiresAt: Date;
  readonly autoClose: boolean;
}

/** `now` is the database's time. */
export function hasExpired({ expiresAt }: Pick<Deadline, 'expiresAt'>, now: Date): boolean {
  return now >= expiresAt;
}

/** With auto-close off, the order is not closed, so it stays payable after its deadline. */
export function isPayable(order: Deadline, now: Date): boolean {
  return order.status === 'PENDING' && (!order.autoClose || !hasExpired(order, now));
}
