import { type Order } from './order';
import { type PaymentAttempt } from './payment-attempt';

/** How the money that arrived compares with what the order asks for. */
export type MoneyReceived =
  | { readonly type: 'nothing' }
  /** Some, but less than the total, or in another currency. */
  | {
      readonly type: 'insufficient';
      readonly reason: 'amount-mismatch' | 'currency-mismatch';
      readonly sentence: string;
    }
  /** Enough. `surplus` are the attempts that were not needed for it, latest payments first to go. */
  | { readonly type: 'sufficient'; readonly surplus: readonly PaymentAttempt[] };

/** Pure: adds up the paid attempts of an order. Money in another currency never counts towards the total. */
export function moneyReceived(
  order: Pick<Order, 'amount' | 'currency'>,
  attempts: readonly PaymentAttempt[],
): MoneyReceived {
  const paid = attempts.filter((attempt) => attempt.status === 'PAID').sort(byPaidAt);
  if (paid.length === 0) return { type: 'nothing' };
  let sum = 0n;
  const surplus: PaymentAttempt[] = [];
  for (const attempt of paid) {
    if (sum >= order.amount || attempt.paidCurrency !== order.currency) surplus.push(attempt);
    else sum += attempt.paidAmount ?? 0n;
  }
  if (sum >= order.amount) return { type: 'sufficient', surplus };
  const foreign = paid.filter((attempt) => attempt.paidCurrency !== order.currency);
  return insufficient(order, sum, foreign);
}

function insufficient(
  order: Pick<Order, 'amount' | 'currency'>,
  sum: bigint,
  foreign: readonly PaymentAttempt[],
): MoneyReceived {
  const others = foreign.map((attempt) => ` and ${attempt.paidAmount} ${attempt.paidCurrency}`).join('');
  return {
    type: 'insufficient',
    reason: foreign.length > 0 ? 'currency-mismatch' : 'amount-mismatch',
    sentence:
      `paid ${sum} ${order.currency}${others} of ${order.amount} ${order.currency}; ` +
      'refund it at the provider, or collect the rest and mark the order paid',
  };
}

function byPaidAt(a: PaymentAttempt, b: PaymentAttempt): number {
  return (a.paidAt?.getTime() ?? 0) - (b.paidAt?.getTime() ?? 0) || (a.reference < b.reference ? -1 : 1);
}
