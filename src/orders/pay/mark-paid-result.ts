import { type UnmatchedReason } from '../sql/order-store';
import { type OrderView } from '../order-view';

/**
 * - `paid` · `already-paid`: the same payment had been booked before
 * - `booked`: another session holds the order's stock. The money is written down, and the order becomes PAID by itself when
 *   the stock is free. It is not closed until then.
 * - `late`: the order was closed before; by policy it
 *   is revived, the money goes back, or it is kept · `surplus`: paid twice, by another attempt; it goes back or is kept
 * - `amount-mismatch`, `currency-mismatch`: booked on the attempt, but it does not pay the order
 * - `attempt-mismatch`: the attempt, or the same payment under another name, belongs to another order · `unknown-order`
 * All but `paid`, `booked` and `already-paid` is noted in orphan_payment and reported as `order.payment_late`.
 */
export type MarkPaidResult =
  | {
      readonly outcome: 'paid' | 'booked' | 'already-paid' | Exclude<UnmatchedReason, 'unknown-order'>;
      readonly order: OrderView;
    }
  | { readonly outcome: 'unknown-order' };
