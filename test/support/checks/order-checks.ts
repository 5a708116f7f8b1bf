import { type HistoryFact, type ReservationFact, type StockLevel } from './facts';

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
