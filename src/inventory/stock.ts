interface StockLine {
  readonly sku: string;
  /** Units, 1 or more. */
  readonly quantity: number;
}

/** The lines of one order. Lines with the same SKU are added up. */
export interface StockDemand {
  readonly orderId: string;
  /** Merchant of the order. SKUs of other merchants are unknown to it. Absent: it may take any SKU. */
  readonly merchantId?: string;
  readonly lines: readonly StockLine[];
}

/** Stock of one SKU. `available` = `onHand` − `reserved`. */
export interface StockLevel {
  readonly sku: string;
  readonly onHand: number;
  readonly reserved: number;
  readonly available: number;
  /** The merchant that owns the SKU. Absent: shared by all. */
  readonly merchantId?: string;
}

/** A SKU of which less is available than the demands want in total. */
export interface StockShortage {
  readonly sku: string;
  readonly wanted: number;
  readonly available: number;
}

/** Result of a reservation. `refused`: nothing was written. */
export type ReserveOutcome =
  | { readonly type: 'reserved' }
  | {
      readonly type: 'refused';
      readonly shortages: readonly StockShortage[];
      readonly unknownSkus: readonly string[];
      /** Available stock of every known SKU of the demands, to find out which of many orders would fit. */
      readonly available: ReadonlyMap<string, number>;
      /** Owners of these SKUs. Absent if all are shared. */
      readonly owners?: ReadonlyMap<string, string>;
    };

/** Condition for setting the stock. */
export interface SetStockCondition {
  /** The stock that must be on hand at that moment. An unknown SKU has 0. Absent: no condition. */
  readonly expected?: number | undefined;
}

/**
 * Result of a stock change. Nothing was written unless `set`. `below-reserved`: less would be on hand than is reserved.
 * `too-large`: more would be on hand than `max`. `changed`: the stock on hand is not the expected one.
 */
export type SetStockOutcome =
  | { readonly type: 'set'; readonly level: StockLevel }
  | { readonly type: 'below-reserved'; readonly reserved: number }
  | { readonly type: 'too-large'; readonly max: number }
  | { readonly type: 'changed'; readonly level: StockLevel };

/** A SKU whose counter disagrees with its reservations, because of a bug or a manual change in the database. */
export interface StockDifference {
  readonly sku: string;
  /** Value of the counter. */
  readonly reserved: number;
  /** Sum of the reservations in state RESERVED. */
  readonly expected: number;
}

/** How a reservation ends: the goods are released, or they are sold. */
export type StockEffect = 'release' | 'commit';

/** What is or was reserved for one order. */
export interface Reservation {
  readonly sku: string;
  readonly quantity: number;
  readonly state: 'RESERVED' | 'RELEASED' | 'COMMITTED';
}

export interface UnfitDemand {
  readonly orderId: string;
  readonly shortages: readonly StockShortage[];
  readonly unknownSkus: readonly string[];
}

/**
 * Pure: serves demands from the available stock, first come, first served, and returns those that do not fit. A demand
 * that does not fit takes nothing, so a smaller one after it may still fit.
 *
 * @param owners merchants of the SKUs that belong to one.
 */
export function selectUnfit(
  demands: readonly StockDemand[],
  available: ReadonlyMap<string, number>,
  owners?: ReadonlyMap<string, string>,
): UnfitDemand[] {
  const left = new Map(available);
  const unfit: UnfitDemand[] = [];
  for (const demand of demands) {
    const { orderId, lines } = demand;
    const wanted = mergeLines(lines);
    const unknownSkus = skusUnknownTo(demand, left, owners);
    const shortages = wanted
      .map(({ sku, quantity }) => ({ sku, wanted: quantity, available: left.get(sku) ?? Infinity }))
      .filter((line) => line.available < line.wanted);
    if (unknownSkus.length + shortages.length > 0) unfit.push({ orderId, shortages, unknownSkus });
    else for (const { sku, quantity } of wanted) left.set(sku, (left.get(sku) ?? 0) - quantity);
  }
  return unfit;
}

/** Pure: the SKUs that are unknown to this order: those that do not exist, and those of another merchant. */
export function skusUnknownTo(
  { lines, merchantId }: StockDemand,
  available: ReadonlyMap<string, number>,
  owners: ReadonlyMap<string, string> = new Map(),
): string[] {
  const isOther = (owner: string | undefined): boolean =>
    owner !== undefined && merchantId !== undefined && owner !== merchantId;
  const skus = mergeLines(lines).map(({ sku }) => sku);
  return skus.filter((sku) => !available.has(sku) || isOther(owners.get(sku)));
}

/** Adds up lines with the same SKU, because an order has one reservation per SKU. */
export function mergeLines(lines: readonly StockLine[]): StockLine[] {
  const total = new Map<string, number>();
  for (const { sku, quantity } of lines) total.set(sku, (total.get(sku) ?? 0) + quantity);
  return [...total].map(([sku, quantity]) => ({ sku, quantity }));
}
