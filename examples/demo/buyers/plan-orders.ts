import { Random } from '../../../test/support/buyers/random';
import { type BuyerGroup, BUYER_GROUPS, GROUP_NAMES } from './buyer-group';
import { CHANNELS, type PlannedLine, type PlannedOrder } from './planned-order';
import { scriptBuyer } from './script-buyer';

/** Several orders share each. */
const SKUS = ['tea', 'coffee', 'cocoa', 'sugar', 'honey', 'mugs', 'spoons', 'trays'];
/**
 * Orders placed a second. At the deadline an order costs 1.6 questions to the provider on average, and the service
 * asks a merchant account at most 100 questions a second.
 */
const PER_SECOND = 40;

/** A whole run: what is in stock, and what happens to it. */
export interface DemoPlan {
  readonly orders: readonly PlannedOrder[];
  /** Pieces on hand at the start, by sku: enough for all. */
  readonly stock: ReadonlyMap<string, number>;
}

/** Pure: the same seed and count give the same plan. */
export function planOrders(seed: number, count: number): DemoPlan {
  const random = new Random(seed);
  const ordinals = new Map<BuyerGroup, number>();
  const groups = groupsFor(count, random);
  const orders = groups.map((group, index): PlannedOrder => {
    const ordinal = ordinals.get(group) ?? 0;
    ordinals.set(group, ordinal + 1);
    const lines = linesFor(random);
    return {
      id: `${String(index + 1).padStart(4, '0')}-${group}`,
      group,
      // By turns within each group, so that each group goes through each channel.
      channel: CHANNELS[ordinal % CHANNELS.length] ?? 'http',
      placeAtMs: Math.round((index * 1_000) / PER_SECOND),
      lines,
      amount: lines.reduce((sum, { quantity, unitAmount }) => sum + quantity * unitAmount, 0),
      ...scriptBuyer(group, Math.floor(ordinal / CHANNELS.length), random),
    };
  });
  return { orders, stock: stockFor(orders, random) };
}

/** Exact shares in every 50 orders, in random order. */
function groupsFor(count: number, random: Random): BuyerGroup[] {
  const round = GROUP_NAMES.flatMap((name) => Array.from({ length: BUYER_GROUPS[name].share }, () => name));
  const rounds = Array.from({ length: Math.ceil(count / round.length) }, () => random.shuffled(round));
  return rounds.flat().slice(0, count);
}

function linesFor(random: Random): PlannedLine[] {
  const skus = random.shuffled(SKUS).slice(0, random.between(1, 2));
  return skus.map((sku) => ({ sku, quantity: random.between(1, 3), unitAmount: random.between(100, 5_000) }));
}

function stockFor(orders: readonly PlannedOrder[], random: Random): Map<string, number> {
  const stock = new Map(SKUS.map((sku) => [sku, random.between(0, 20)]));
  for (const { sku, quantity } of orders.flatMap(({ lines }) => lines))
    stock.set(sku, (stock.get(sku) ?? 0) + quantity);
  return stock;
}
