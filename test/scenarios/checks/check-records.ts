import { EVENT_OF_STATUS } from '../../../src/orders/model/transition';
import { historyProblems, reservationProblems } from '../../support/checks/order-checks';
import { type OrderFacts } from './order-facts';
import { type Violation } from './violation';

const other = (says: string): Violation => ({ kind: 'other', says });

/** History without a gap, one event for every effect, and stock as the status has it. */
export function checkRecords(facts: OrderFacts): Violation[] {
  return [...checkHistory(facts), ...checkEvents(facts), ...checkReservations(facts)];
}

function checkHistory({ stored, history }: OrderFacts): Violation[] {
  if (!stored) return [];
  const to = history.at(-1)?.to;
  const problems = historyProblems(stored.id, stored.version, history);
  if (to !== stored.status) problems.push(`history ends with ${to ?? 'nothing'}, the order is ${stored.status}`);
  return problems.map(other);
}

function checkEvents({ history, refunds, unmatched, events }: OrderFacts): Violation[] {
  const steps = history.filter(({ from, to }) => from !== to && to !== 'CLOSED_REFUNDED');
  const expected = [
    ...steps.flatMap(({ to, version }) => {
      const type = EVENT_OF_STATUS[to as keyof typeof EVENT_OF_STATUS];
      return type ? [`${type} ${version}`] : [];
    }),
    ...refunds.map(() => 'order.refunded'),
    ...unmatched.filter(({ orderId }) => orderId !== null).map(() => 'order.payment_late'),
  ];
  const found = events.map(({ type, orderVersion }) =>
    type === 'order.refunded' || type === 'order.payment_late' ? type : `${type} ${orderVersion}`,
  );
  if (found.sort().join() === expected.sort().join()) return [];
  return [other(`events [${found.join(', ')}] instead of [${expected.join(', ')}]`)];
}

function checkReservations({ stored, order: { id, lines }, reservations }: OrderFacts): Violation[] {
  const problems = stored ? reservationProblems(id, { status: stored.status, lines }, reservations) : [];
  return problems.map((says) => ({ kind: 'stock-wrong', says }));
}
