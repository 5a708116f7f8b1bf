import { type Money } from './book-money';
import { areTwoPayments, isSamePayment } from '../payment-attempt';
import { type SamePayments } from '../sql/find-same-payments';
import { type UnownedMoney } from '../sql/lock-orders';

/** Pure: returns unowned money as a payment. @param now the payment time if none was stored. */
export function unownedMoney({ evidence, ...told }: UnownedMoney, now: Date): Money {
  const { provider, reference, merchantAccount, transactionId, amount, currency, source } = told;
  const { paidAt } = evidence;
  const at = typeof paidAt === 'string' ? new Date(paidAt) : now;
  const money = { provider, reference, merchantAccount, transactionId, amount, currency, source };
  return { ...money, paidAt: Number.isNaN(at.getTime()) ? now : at };
}

/** The names under which everything that is known of this payment is found. */
export function namesOfMoney(told: Money, named: Money): readonly Money[] {
  return told === named ? [told] : [told, named];
}

/** Pure: returns the unowned money that is this payment. A report may have a transaction id of its own. */
export function unownedOf(money: Money, { unowned }: Pick<SamePayments, 'unowned'>): UnownedMoney[] {
  const isOther = (one: UnownedMoney): boolean => money.source === 'provider' && areTwoPayments(one, money);
  return unowned.filter((one) => isSamePayment(one, money) && !isOther(one));
}
