import { EVENT_OF_STATUS } from '../../../src/orders/model/transition';
import { type EventFact, type HistoryFact, type ReservationFact, type StockLevel } from './facts';

interface Line {
  readonly sku: string;
  readonly quantity: number;
}

interface Placed {
  readonly status: string;
  readonly lines: readonly Line[];
}

/** What becomes of the pieces of an order in each status; in all others they stay reserved. */
const STATE_OF: Readonly<Record<string, string>> = {
  PAID: 'COMMITTED',
  CLOSED: 'RELEASED',
  CANCELLED: 'RELEASED',
  CLOSED_REFUNDED: 'RELEASED',
};

const stateFor = (status: string): string => STATE_OF[status] ?? 'RESERVED';

/** Pure: versions run from 1 to that of the order, and each entry starts where the last one ended. */
export function historyProblems(id: string, version: number, history: readonly HistoryFact[]): string[] {
  const versions = history.map((entry) => entry.version);
  const isGapless = versions.every((one, index) => one === index + 1);
  if (!isGapless || versions.length !== version) {
    return [`${id} has version ${version} and history ${versions.join(', ') || 'none'}`];
  }
  const breaks = history.filter((entry, index) => entry.from !== (history[index - 1]?.to ?? null));
  return breaks.map((entry) => `${id} jumps at version ${entry.version}`);
}

/**
 * Pure: each step of the history was told in one event, which may be sent more than once. `order.refunded` belongs to a
 * refund, so that its step has none.
 */
export function eventProblems(id: string, history: readonly HistoryFact[], events: readonly EventFact[]): string[] {
  const steps = history.filter(({ from, to }) => from !== to && to !== 'CLOSED_REFUNDED');
  const expected = steps.flatMap(({ to, version }) => {
    const type = EVENT_OF_STATUS[to as keyof typeof EVENT_OF_STATUS];
    return type ? [`${type} ${version}`] : [];
  });
  const isOfStep = ({ type }: EventFact): boolean => type !== 'order.refunded' && TYPES.has(type);
  const found = events.filter(isOfStep).map(({ type, orderVersion }) => `${type} ${orderVersion}`);
  return texts(found) === texts(expected) ? [] : [`${id} has the events ${texts(found)}, not ${texts(expected)}`];
}

const TYPES = new Set<string>(Object.values(EVENT_OF_STATUS));

/** Pure: an order's pieces are sold, released, or held, as its status says. */
export function reservationProblems(
  id: string,
  { status, lines }: Placed,
  reservations: readonly ReservationFact[],
): string[] {
  const state = stateFor(status);
  const expected = texts(lines.map(({ sku, quantity }) => `${quantity} ${sku} ${state}`));
  const found = texts(reservations.map((row) => `${row.quantity} ${row.sku} ${row.state}`));
  return expected === found ? [] : [`${id} has ${found || 'nothing'}, not ${expected}`];
}

/** Pure: on hand is the start less what was sold, reserved is what open orders hold; by what the orders are, not by reservations. */
export function stockProblems(
  levels: readonly StockLevel[],
  initial: (sku: string) => number,
  orders: readonly Placed[],
): string[] {
  const pieces = new Map<string, number>();
  for (const { status, lines } of orders) {
    for (const { sku, quantity } of lines) {
      const key = `${stateFor(status)} ${sku}`;
      pieces.set(key, (pieces.get(key) ?? 0) + quantity);
    }
  }
  return levels.flatMap(({ sku, onHand, reserved }) => {
    const expectedOnHand = initial(sku) - (pieces.get(`COMMITTED ${sku}`) ?? 0);
    const expectedReserved = pieces.get(`RESERVED ${sku}`) ?? 0;
    if (onHand === expectedOnHand && reserved === expectedReserved) return [];
    return [`${sku}: ${onHand} on hand and ${reserved} reserved, not ${expectedOnHand} and ${expectedReserved}`];
  });
}

const texts = (lines: readonly string[]): string => [...lines].sort().join(', ');
