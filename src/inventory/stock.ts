/** So many pieces of one article. */
export interface StockLine {
  readonly sku: string;
  /** Pieces, 1 or more. */
  readonly quantity: number;
}

/** What one order wants. Lines of one sku are added up. */
export interface StockDemand {
  readonly orderId: string;
  /** Whose order it is: a sku of another merchant is unknown to it. Absent: it may take any. */
  readonly merchantId?: string;
  readonly lines: readonly StockLine[];
}

/** What there is of one article. `available` = `onHand` − `reserved`. */
export interface StockLevel {
  readonly sku: string;
  readonly onHand: number;
  readonly reserved: number;
  readonly available: number;
  /** The merchant whose sku it is; absent: everybody's. */
  readonly merchantId?: string;
}

/** A sku of which less is available than is wanted in total. */
export interface StockShortage {
  readonly sku: string;
  readonly wanted: number;
  readonly available: number;
}

/** All or nothing: `refused` means that nothing was written. */
export type ReserveOutcome =
  | { readonly type: 'reserved' }
  | {
      readonly type: 'refused';
      readonly shortages: readonly StockShortage[];
      readonly unknownSkus: readonly string[];
      /** What is available of every known sku that was asked for, to see which of many orders would fit. */
      readonly available: ReadonlyMap<string, number>;
      /** Whose skus these are; absent where all are shared. */
      readonly owners?: ReadonlyMap<string, string>;
    };

/** When to set the stock. */
export interface SetStockCondition {
  /** What must be on hand at that moment; an unknown sku has 0. Absent: set it whatever there is. */
  readonly expected?: number | undefined;
}

/**
 * What became of a change of stock; nothing was written unless `set`. `below-reserved`: less would be on hand than is
 * reserved for orders. `too-large`: more would be on hand than `max`. `changed`: something else is on hand than expected.
 */
export type SetStockOutcome =
  | { readonly type: 'set'; readonly level: StockLevel }
  | { readonly type: 'below-reserved'; readonly reserved: number }
  | { readonly type: 'too-large'; readonly max: number }
  | { readonly type: 'changed'; readonly level: StockLevel };

/** A sku whose counter disagrees with its reservations: a bug or a hand in the database. */
export interface StockDifference {
  readonly sku: string;
  /** What the counter says. */
  readonly reserved: number;
  /** Σ of the reservations in state RESERVED. */
  readonly expected: number;
}

/** What becomes of an order's reservation: the goods go back on sale, or they are sold. */
export type StockEffect = 'release' | 'commit';
