import { type OrderStatus } from './order-status';
import { type AttemptStatus } from './payment-attempt';

/** A line of an order; `unitAmount` in minor units. */
export interface OrderLineView {
  readonly sku: string;
  readonly quantity: number;
  readonly unitAmount: number;
}

/** An attempt, as it is shown. */
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

/** An order, as it is shown to callers. Amounts are integers in minor units. */
export interface OrderView {
  readonly id: string;
  readonly merchantId: string;
  readonly status: OrderStatus;
  readonly version: number;
  readonly amount: number;
  readonly currency: string;
  readonly expiresAt: Date;
  /** The deadline has passed by the database's clock, whatever the machinery has done about it so far. */
  readonly expired: boolean;
  /** Whether a new payment attempt is welcome. */
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

/** `now` is the database's. */
export function hasExpired({ expiresAt }: Pick<Deadline, 'expiresAt'>, now: Date): boolean {
  return now >= expiresAt;
}

/** With auto-close off nobody will close the order, so it stays payable after its deadline. */
export function isPayable(order: Deadline, now: Date): boolean {
  return order.status === 'PENDING' && (!order.autoClose || !hasExpired(order, now));
}
