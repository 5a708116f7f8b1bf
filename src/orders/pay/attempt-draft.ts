import { type NewAttempt } from '../place/new-order';
import { type Order } from '../order';
import { type PaymentAttempt } from '../payment-attempt';

/** Pure: returns the attempt to be written. Missing values are taken from its order. */
export function draftAttempt(
  order: Pick<Order, 'id' | 'amount' | 'currency'>,
  attempt: NewAttempt,
  createdAt: Date,
): PaymentAttempt {
  return {
    orderId: order.id,
    provider: attempt.provider,
    reference: attempt.reference,
    merchantAccount: attempt.merchantAccount ?? null,
    resolvedAccount: null,
    // The caller may have handed the attempt to the buyer already, so it counts as payable from now on.
    status: attempt.handedOver === false ? 'CREATED' : 'OPEN',
    amount: attempt.amount === undefined ? order.amount : BigInt(attempt.amount),
    currency: attempt.currency ?? order.currency,
    timeExpire: attempt.timeExpire ?? null,
    createdAt,
    registered: true,
    paidAmount: null,
    refundedAmount: 0n,
    paidCurrency: null,
    paidAt: null,
    transactionId: null,
    paidSource: null,
  };
}
