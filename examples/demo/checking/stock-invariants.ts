import { type OrderFact, type StockFact } from './facts';
import { type Invariant } from './invariant';
import { paidBeforePlaced } from './outage';

/** What becomes of the pieces of an order in each status; in all others they stay reserved. */
const STATE_OF: Readonly<Record<string, string>> = { PAID: 'COMMITTED', CLOSED: 'RELEASED', CANCELLED: 'RELEASED' };

const stateFor = ({ stored }: OrderFact): string => STATE_OF[stored?.status ?? ''] ?? 'RESERVED';

/** Pieces and money. */
export const STOCK_INVARIANTS: readonly Invariant[] = [
  {
    name: 'stock-exact',
    says: 'stock is exact: on hand = start − sold, reserved = what open orders hold, for every sku',
    violations: ({ stock, orders }) => stock.flatMap((level) => wrongLevel(level, orders)),
  },
  {
    name: 'reservations-exact',
    says: "every order's pieces are sold, released, or held, as its status says",
    violations: ({ orders }) => orders.flatMap(wrongReservations),
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

function wrongLevel({ sku, initial, onHand, reserved }: StockFact, orders: readonly OrderFact[]): string[] {
  const expectedOnHand = initial - pieces(sku, orders, 'COMMITTED');
  const expectedReserved = pieces(sku, orders, 'RESERVED');
  if (onHand === expectedOnHand && reserved === expectedReserved) return [];
  return [`${sku}: ${onHand} on hand and ${reserved} reserved, not ${expectedOnHand} and ${expectedReserved}`];
}

/** By the plan and the status, not by the reservations: those are under suspicion themselves. */
function pieces(sku: string, orders: readonly OrderFact[], state: string): number {
  const lines = orders.filter((order) => order.stored && stateFor(order) === state).flatMap(({ plan }) => plan.lines);
  return lines.filter((line) => line.sku === sku).reduce((sum, line) => sum + line.quantity, 0);
}

function wrongReservations(order: OrderFact): string[] {
  if (!order.stored) return [];
  const state = stateFor(order);
  const expected = texts(order.plan.lines.map(({ sku, quantity }) => `${quantity} ${sku} ${state}`));
  const found = texts(order.reservations.map((row) => `${row.quantity} ${row.sku} ${row.state}`));
  return expected === found ? [] : [`${order.plan.id} has ${found || 'nothing'}, not ${expected}`];
}

const texts = (lines: readonly string[]): string => [...lines].sort().join(', ');
