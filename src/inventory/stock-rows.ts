import { MAX_STOCK } from './inventory-queries';
import { skusUnknownTo } from './skus-unknown-to';
import { type ReserveOutcome, type SetStockOutcome, type StockDemand, type StockLevel } from './stock';

/** One SKU of a demand. */
export interface WantedRow {
  readonly sku: string;
  readonly wanted: number;
  /** Null: the SKU does not exist. */
  readonly available: number | null;
  /** Null: shared by all merchants. */
  readonly owner: string | null;
  readonly fits: boolean;
}

/** Result of a stock change. */
export interface ChangedRow {
  readonly type: SetStockOutcome['type'];
  /** Stock on hand before. */
  readonly found: number;
  readonly reserved: number;
  /** The requested stock on hand. */
  readonly on_hand: number;
  readonly written: number;
}

/** One row of the inventory. */
export interface LevelRow {
  readonly sku: string;
  readonly on_hand: number;
  readonly reserved: number;
  readonly merchant_id?: string | null;
}

export function levelOf({ sku, on_hand: onHand, reserved, merchant_id: merchantId }: LevelRow): StockLevel {
  const owner = merchantId ? { merchantId } : {};
  return { sku, onHand, reserved, available: onHand - reserved, ...owner };
}

export function toOutcome(sku: string, { type, found, reserved, on_hand: onHand }: ChangedRow): SetStockOutcome {
  switch (type) {
    case 'set':
      return { type, level: levelOf({ sku, on_hand: onHand, reserved }) };
    case 'changed':
      return { type, level: levelOf({ sku, on_hand: found, reserved }) };
    case 'below-reserved':
      return { type, reserved };
    case 'too-large':
      return { type, max: MAX_STOCK };
  }
}

export function refusal(rows: readonly WantedRow[], demands: readonly StockDemand[]): ReserveOutcome {
  const available = new Map(rows.flatMap((row) => (row.available === null ? [] : [[row.sku, row.available] as const])));
  const owners = new Map(rows.flatMap((row) => (row.owner === null ? [] : [[row.sku, row.owner] as const])));
  const strange = new Set(demands.flatMap((demand) => skusUnknownTo(demand, available, owners)));
  const known = rows.flatMap(({ sku, wanted, available: left }) =>
    left === null || strange.has(sku) ? [] : [{ sku, wanted, available: left }],
  );
  return {
    type: 'refused',
    shortages: known.filter((row) => row.available < row.wanted),
    unknownSkus: [...strange].sort(),
    available,
    ...(owners.size > 0 ? { owners } : {}),
  };
}
