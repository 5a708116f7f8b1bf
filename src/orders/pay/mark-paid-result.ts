import { type UnmatchedReason } from '../unmatched/unmatched-money';
import { type OrderView } from '../order-view';

/** Nobody reports such payments for an order. */
type NotOfReports =
  'unknown-order' | 'refund-failed' | 'excess-refund-failed' | 'chargeback' | 'invalid-amount' | 'overpaid';

/**
 * The result of a reported payment.
 * - `paid`: the payment is booked, and the order is PAID.
 * - `already-paid`: the same payment was booked before.
 * - `booked`: another session holds the order's stock. The payment is stored, and the order becomes PAID automatically
 *   when the stock is free. It is not closed before that.
 * - `late`: the order was closed before. By policy, the order is revived, or the money is refunded or kept.
 * - `surplus`: the order is paid twice, by another attempt. The money is refunded or kept.
 * - `amount-mismatch`, `currency-mismatch`: booked on the attempt, but it does not pay the order.
 * - `attempt-mismatch`: the attempt, or the same payment under another name, belongs to another order.
 * - `unknown-order`: there is no such order.
 *
 * All except `paid`, `booked`, and `already-paid` are stored in unmatched_payment and reported as `order.payment_late`.
 */
export type MarkPaidResult =
  | {
      readonly outcome: 'paid' | 'booked' | 'already-paid' | Exclude<UnmatchedReason, NotOfReports>;
      readonly order: OrderView;
    }
  | { readonly outcome: 'unknown-order' };
