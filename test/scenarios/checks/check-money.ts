import { type MoneyFacts, moneyProblems } from '../../support/checks/money-checks';
import { type Placed } from '../playing/placed-order';
import { type OrderFacts } from './order-facts';
import { type Violation } from './violation';

/** By the provider's own books: a paid order holds exactly its price, every other one holds nothing. */
export function checkMoney(facts: OrderFacts): Violation[] {
  return [...checkForeign(facts), ...checkOwn(facts)];
}

/** All money of the run, whoever has it. What was refunded directly at the provider is not the service's to know. */
export function checkAllMoney(money: MoneyFacts, orders: readonly Placed[]): Violation[] {
  const givenByHand = new Map(orders.map(({ id, plan }) => [id, BigInt(plan.ends.givenByHand ?? 0)]));
  const claims = money.claims.map((claim) => ({
    ...claim,
    amount: String(BigInt(claim.amount) - (givenByHand.get(claim.orderId) ?? 0n)),
  }));
  return moneyProblems({ ...money, claims }).map((says) => ({ kind: 'other', says }));
}

/** What is no order's never goes back by itself. */
function checkForeign({ foreign }: OrderFacts): Violation[] {
  const returned = foreign.filter(({ refunds }) => refunds.length > 0);
  return returned.map(({ reference }) => ({ kind: 'other', says: `${reference} is no order's, and went back` }));
}

function checkOwn(facts: OrderFacts): Violation[] {
  const held = heldMoney(facts);
  const { status } = facts.stored ?? {};
  if (status === 'PAID') {
    const { amount, currency, plan } = facts.order;
    const price = `${amount - (plan.ends.givenByHand ?? 0)} ${currency}`;
    return held === price
      ? []
      : [{ kind: 'other', says: `PAID, and the provider holds ${held || 'nothing'} of ${price}` }];
  }
  if (held === '') return checkRefunds(facts);
  if (isKeptForPerson(facts)) return [];
  return [{ kind: 'charged-closed-unrefunded', says: `${status ?? 'not stored'}, and the provider holds ${held}` }];
}

/** The shop never got to say whose money it is: a story that was broken off, and the money is on record. */
function isKeptForPerson({ order, unmatched }: OrderFacts): boolean {
  return order.isTooLate && unmatched.some(({ reason, handling }) => `${reason}/${handling}` === 'unknown-order/kept');
}

/** Paid and not refunded, by currency. */
function heldMoney({ ledger }: OrderFacts): string {
  const sums = new Map<string, bigint>();
  for (const { paidAmount, paidCurrency, refundedAmount } of ledger) {
    if (paidAmount === null || paidCurrency === null) continue;
    sums.set(paidCurrency, (sums.get(paidCurrency) ?? 0n) + BigInt(paidAmount) - BigInt(refundedAmount));
  }
  const left = [...sums].filter(([, sum]) => sum !== 0n);
  return left.map(([currency, sum]) => `${sum} ${currency}`).join(' + ');
}

/** Our rows and the provider's are the same refunds, one for each payment that went back. */
export function checkRefunds({ refunds, ledger }: OrderFacts): Violation[] {
  const ours = refunds.map(({ reference, number, amount, status }) => `${reference} ${number} ${amount} ${status}`);
  const theirs = ledger.flatMap(({ reference, refunds: made }) =>
    made
      .filter(({ status }) => status !== 'REJECTED')
      // Stripe does not know our number: after a refusal the simulator calls the next try `number#2`.
      .map(({ number, amount, status }) => `${reference} ${number.replace(/#\d+$/, '')} ${amount} ${status}`),
  );
  if (ours.sort().join() === theirs.sort().join()) return [];
  return [{ kind: 'other', says: `our refunds [${ours.join(', ')}] are not the provider's [${theirs.join(', ')}]` }];
}
