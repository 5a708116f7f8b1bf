import { type Order } from '../order';
import { isUnconfirmed, heldAmountOf, type PaymentAttempt } from '../payment-attempt';

/** How the received money compares with the order's total. */
export type MoneyReceived =
  | { readonly type: 'nothing' }
  /** Some money, but less than the total, or in another currency. */
  | {
      readonly type: 'insufficient';
      readonly reason: 'amount-mismatch' | 'currency-mismatch';
      readonly sentence: string;
    }
  /**
   * Enough. `surplus` contains the attempts that are not needed for the total: unconfirmed ones first, then the latest.
   */
  | { readonly type: 'sufficient'; readonly surplus: readonly PaymentAttempt[]; readonly overpaid?: Overpaid };

/** What is too much although no whole payment is surplus. It is part of this payment. */
export interface Overpaid {
  readonly attempt: PaymentAttempt;
  readonly excess: bigint;
}

/** Pure: adds up the paid attempts of an order. Money in another currency never counts toward the total. */
export function moneyReceived(
  order: Pick<Order, 'amount' | 'currency'>,
  attempts: readonly PaymentAttempt[],
): MoneyReceived {
  const paid = attempts.filter((attempt) => attempt.status === 'PAID').sort(byTrust);
  if (paid.length === 0) return { type: 'nothing' };
  const fitting = paid.filter((attempt) => attempt.paidCurrency === order.currency);
  const sum = fitting.reduce((total, attempt) => total + heldAmountOf(attempt), 0n);
  if (sum >= order.amount) {
    const unneeded = findUnneeded(fitting, sum - order.amount);
    const surplus = paid.filter((one) => !fitting.includes(one) || unneeded.has(one));
    return {
      type: 'sufficient',
      surplus,
      ...findOverpaid(
        order,
        paid.filter((one) => !surplus.includes(one)),
      ),
    };
  }
  const foreign = paid.filter((attempt) => attempt.paidCurrency !== order.currency);
  return insufficient(order, sum, foreign);
}

/** Pure: whether what the provider has confirmed does not pay this order, so that it is PAID by what was only reported. */
export function isPaidByReports(
  order: Pick<Order, 'status' | 'amount' | 'currency'>,
  attempts: readonly PaymentAttempt[],
): boolean {
  const confirmed = attempts.filter((attempt) => !isUnconfirmed(attempt));
  return order.status === 'PAID' && moneyReceived(order, confirmed).type !== 'sufficient';
}

/** Whole payments that are not needed, the latest first, while the rest still pays the order. */
function findUnneeded(attempts: readonly PaymentAttempt[], excess: bigint): ReadonlySet<PaymentAttempt> {
  const unneeded = new Set<PaymentAttempt>();
  let left = excess;
  for (const attempt of attempts.toReversed()) {
    const amount = heldAmountOf(attempt);
    if (amount > left) continue;
    left -= amount;
    unneeded.add(attempt);
  }
  return unneeded;
}

/**
 * Each needed payment is larger than the excess, or it would be surplus. So the excess is part of the last one, or of the
 * last one without a refund of its own, because a payment has one such refund.
 */
function findOverpaid({ amount }: Pick<Order, 'amount'>, needed: readonly PaymentAttempt[]): { overpaid?: Overpaid } {
  const excess = needed.reduce((total, attempt) => total + heldAmountOf(attempt), -amount);
  const attempt = needed.findLast(({ refundedAmount }) => refundedAmount === 0n) ?? needed.at(-1);
  return attempt && excess > 0n ? { overpaid: { attempt, excess } } : {};
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
      `paid ${sum} ${order.currency}${others} of ${order.amount} ${order.currency}, in minor units; ` +
      'refund it at the provider, or collect the rest and mark the order paid',
  };
}

/**
 * Payments that only a report vouches for come last, so that they never make a confirmed payment surplus. Those of attempts
 * that were not registered come before them: nothing is refunded automatically because of them.
 */
function byTrust(a: PaymentAttempt, b: PaymentAttempt): number {
  const unconfirmed = Number(isUnconfirmed(a)) - Number(isUnconfirmed(b));
  const unregistered = Number(b.registered) - Number(a.registered);
  return (
    unconfirmed ||
    unregistered ||
    (a.paidAt?.getTime() ?? 0) - (b.paidAt?.getTime() ?? 0) ||
    (a.reference < b.reference ? -1 : 1)
  );
}
