import { reservationProblems, stockProblems } from '../../../test/support/checks/order-checks';
import { moneyProblems } from '../../../test/support/checks/money-checks';
import { type OrderFact } from './facts';
import { type Invariant } from './invariant';
import { paidBeforePlaced } from './outage';

/** Pieces and money. */
export const STOCK_INVARIANTS: readonly Invariant[] = [
  {
    name: 'stock-exact',
    says: 'stock is exact: on hand = start − sold, reserved = what open orders hold, for every sku',
    violations: ({ stock, orders }) => {
      const initial = new Map(stock.map((level) => [level.sku, level.initial]));
      return stockProblems(stock, (sku) => initial.get(sku) ?? 0, orders.flatMap(placedOf));
    },
  },
  {
    name: 'reservations-exact',
    says: "every order's pieces are sold, released, or held, as its status says",
    violations: ({ orders }) =>
      orders.flatMap((order) =>
        placedOf(order).flatMap((placed) => reservationProblems(order.plan.id, placed, order.reservations)),
      ),
  },
  {
    name: 'money-once',
    says: 'each payment at the provider is needed by one PAID order, or returned, or open in unmatched_payment: exactly once',
    violations: ({ money }) => moneyProblems(money),
  },
  {
    name: 'no-unmatched-payment',
    says: 'no unmatched payment',
    violations: (facts) => {
      const explained = paidBeforePlaced(facts);
      return facts.unmatchedPayments.filter(({ orderId }) => !explained.has(orderId)).map(({ says }) => says);
    },
  },
];

/** None for an order that is not there. */
function placedOf({ plan: { lines }, stored }: OrderFact) {
  return stored ? [{ status: stored.status, lines }] : [];
}
