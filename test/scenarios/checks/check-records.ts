import { EVENT_OF_STATUS } from '../../../src/orders/order-events';
import { type OrderFacts } from './order-facts';
import { type Violation } from './violation';

const other = (says: string): Violation => ({ kind: 'other', says });

/** History without a gap, one event for every effect, and stock as the status has it. */
export function checkRecords(facts: OrderFacts): Violation[] {
  return [...checkHistory(facts), ...checkEvents(facts), ...checkReservations(facts)];
}

function checkHistory({ stored, history }: OrderFacts): Violation[] {
  const problems = history.flatMap(({ version, from }, index) => {
    const before = history[index - 1];
    const isNext = version === index + 1 && (from ?? undefined) === before?.to;
    return isNext ? [] : [other(`history has version ${version} from ${from ?? 'nothing'} as number ${index + 1}`)];
  });
  const last = history.at(-1);
  if (stored && (last?.version !== stored.version || last.to !== stored.status)) {
    problems.push(other(`history ends with version ${last?.version ?? 0}, the order is at ${stored.version}`));
  }
  return problems;
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

function checkReservations({ stored, order, reservations }: OrderFacts): Violation[] {
  const state = stored?.status === 'PAID' ? 'COMMITTED' : 'RELEASED';
  const expected = order.lines.map(({ sku, quantity }) => `${sku} ${quantity} ${state}`).sort();
  const found = reservations.map(({ sku, quantity, state: is }) => `${sku} ${quantity} ${is}`).sort();
  if (found.join() === expected.join()) return [];
  return [{ kind: 'stock-wrong', says: `reservations [${found.join(', ')}] instead of [${expected.join(', ')}]` }];
}
