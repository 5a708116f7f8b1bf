import {
  ORDER_LATE_WATCH,
  ORDER_PAYMENT,
  ORDER_REMINDER,
  PAYMENT_RECONCILIATION,
  PAYMENT_REFUND,
} from './order-timeouts';

/** The kinds of timeouts that orders have. Every instance handles all of them. */
export const ORDER_KINDS: readonly string[] = [
  ORDER_PAYMENT,
  ORDER_REMINDER,
  ORDER_LATE_WATCH,
  PAYMENT_REFUND,
  PAYMENT_RECONCILIATION,
];
