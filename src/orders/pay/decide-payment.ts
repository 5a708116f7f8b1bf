import { assertNever } from '../../errors';
import { type Booking } from './book-money';
import { moneyReceived } from './money-received';
import { type LockedOrder } from '../order';
import { type PaymentAttempt } from '../payment-attempt';

/** What a booked payment means for its order. */
export type PaymentDecision =
  | { readonly type: 'pay'; readonly surplus: readonly PaymentAttempt[] }
  | { readonly type: 'already-paid' }
  /** The order is paid by another attempt. */
  | { readonly type: 'surplus' }
  /** The order was PAID with too little, because an earlier report was too high, and has enough by this payment. */
  | { readonly type: 'rest' }
  /** The order was closed or canceled before the payment was reported. */
  | { readonly type: 'late' }
  /** Too little, or in another currency. For a PAID order: an earlier report was too high. */
  | { readonly type: 'insufficient'; readonly reason: 'amount-mismatch' | 'currency-mismatch' };

/** Pure: decides what a booked payment means for its order. */
export function decidePayment({
  after,
  wasBooked,
  holder,
}: Pick<Booking, 'after' | 'wasBooked' | 'holder'>): PaymentDecision {
  switch (after.status) {
    case 'PAID':
      return decidePaid(after, wasBooked, holder);
    case 'CLOSED':
    case 'CANCELLED':
    case 'REFUNDING':
    case 'CLOSED_REFUNDED':
      return { type: 'late' };
    case 'PENDING':
    case 'CLOSING':
      return decideOpen(after);
    default:
      return assertNever(after.status);
  }
}

function decidePaid(after: LockedOrder, wasBooked: boolean, holder: PaymentAttempt): PaymentDecision {
  const money = moneyReceived(after, after.attempts);
  if (money.type === 'insufficient') return { type: 'insufficient', reason: money.reason };
  if (wasBooked) return { type: 'already-paid' };
  const others = after.attempts.filter((one) => one !== holder);
  return { type: moneyReceived(after, others).type === 'insufficient' ? 'rest' : 'surplus' };
}

function decideOpen(after: LockedOrder): PaymentDecision {
  const money = moneyReceived(after, after.attempts);
  switch (money.type) {
    case 'sufficient':
      return { type: 'pay', surplus: money.surplus };
    case 'insufficient':
      return { type: 'insufficient', reason: money.reason };
    case 'nothing':
      // All money that arrived is being refunded already.
      return { type: 'already-paid' };
    default:
      return assertNever(money);
  }
}
