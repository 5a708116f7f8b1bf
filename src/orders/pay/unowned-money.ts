import { type Money } from './book-money';
import { type UnownedMoney } from '../sql/lock-orders';

/** Pure: returns unowned money as a payment. @param now the payment time if none was stored. */
export function unownedMoney({ evidence, ...told }: UnownedMoney, now: Date): Money {
  const { provider, reference, merchantAccount, transactionId, amount, currency, source } = told;
  const { paidAt } = evidence;
  const at = typeof paidAt === 'string' ? new Date(paidAt) : now;
  const money = { provider, reference, merchantAccount, transactionId, amount, currency, source };
  return { ...money, paidAt: Number.isNaN(at.getTime()) ? now : at };
}
