/** What becomes of an order's reservation: the goods go back on sale, or they are sold. */
export type StockEffect = 'release' | 'commit';
