import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { present } from '../errors';
import { Database, joinStatements, statementsOf, type Statements, type Transaction } from '../database';
import { inventorySql, MAX_STOCK } from './inventory-queries';

interface EndedRow {
  readonly lines: number;
  /** Lines to end, as of the snapshot. More than `lines` if another transaction changed some meanwhile. */
  readonly held: number;
}

/** A repetition needs another transaction's change within milliseconds, so five in a row do not happen by chance. */
const END_TRIES = 5;

/** A SKU is created once, so the second try finds it. The third is for a caller with an older snapshot. */
const SET_TRIES = 3;

/**
 * Stock and its reservations. All methods run in the caller's transaction, for many orders at once, and lock stock rows
 * in SKU order. Call them last in a transaction, because many transactions may wait for a popular SKU.
 */
@Injectable()
export class Inventory {
  /** @internal Nest creates it. */
  constructor(private readonly database: Database) {}

  /** @internal What is or was reserved for an order, by SKU. */
  reservations(queries: Pick<EntityManager, 'query'>, orderId: string): Promise<Reservation[]> {
    return queries.query(inventorySql(this.database).reservations, [orderId]);
  }

  /** @internal Reserves all demands or none. Idempotent by order and SKU. */
  async reserve(tx: EntityManager, demands: readonly StockDemand[]): Promise<ReserveOutcome> {
    const lines = demands.flatMap(({ orderId, merchantId = null, lines }) =>
      mergeLines(lines).map((line) => ({ orderId, merchantId, ...line })),
    );
    if (lines.length === 0) return { type: 'reserved' };
    const rows = await tx.query<WantedRow[]>(inventorySql(this.database).reserve, [
      lines.map((line) => line.orderId),
      lines.map((line) => line.sku),
      lines.map((line) => line.quantity),
      lines.map((line) => line.merchantId),
    ]);
    return rows.every((row) => row.fits) ? { type: 'reserved' } : refusal(rows, demands);
  }

  /**
   * Locks all SKUs of these orders, including released ones, in SKU order. Call it before `reserveAgain` for several
   * orders in one transaction, which would otherwise lock the SKUs order by order and could deadlock.
   *
   * @internal
   */
  async lockAll(tx: EntityManager, orderIds: readonly string[]): Promise<void> {
    if (orderIds.length > 0) await tx.query(inventorySql(this.database).lockGiven, [orderIds]);
  }

  /**
   * Like `lockAll`, but locks only stock that no other transaction has locked, without waiting. If two batches share a
   * popular SKU, one of them gets none of its orders, so use this only after a wait for the lock has failed.
   *
   * @returns ids of the orders that have a SKU locked by another transaction. Their free SKUs are locked all the same.
   * @internal
   */
  async lockFree(tx: EntityManager, orderIds: readonly string[]): Promise<ReadonlySet<string>> {
    if (orderIds.length === 0) return new Set();
    const held = await tx.query<{ order_id: string }[]>(inventorySql(this.database).lockFree, [orderIds]);
    return new Set(held.map((row) => row.order_id));
  }

  /**
   * Checks, outside of a transaction, that none of these SKUs is locked at this moment. It holds their locks only inside the
   * server; a transaction would hold them until its rollback has arrived.
   *
   * @throws 55P03 if one is locked.
   */
  async assertFree(manager: EntityManager, skus: readonly string[]): Promise<void> {
    await manager.query(inventorySql(this.database).assertFree, [[...new Set(skus)]]);
  }

  /** @internal Releases what these orders have reserved. Returns the number of lines, which is zero when repeated. */
  release(tx: EntityManager, orderIds: readonly string[]): Promise<number> {
    return this.end(tx, { release: orderIds });
  }

  /** @internal Marks what these orders have reserved as sold. Returns the number of lines, which is zero when repeated. */
  commit(tx: EntityManager, orderIds: readonly string[]): Promise<number> {
    return this.end(tx, { commit: orderIds });
  }

  /**
   * Ends the reservations of these orders: the goods of those in `commit` are sold, those of the others are released.
   * Returns the number of lines, which is zero when repeated.
   *
   * @internal
   */
  async end(
    tx: EntityManager,
    { release = [], commit = [] }: Partial<Record<StockEffect, readonly string[]>>,
  ): Promise<number> {
    const all = [...new Set([...release, ...commit])];
    if (all.length === 0) return 0;
    let ended = 0;
    for (let tries = 1; tries <= END_TRIES; tries += 1) {
      const [row] = await tx.query<[EndedRow]>(inventorySql(this.database).end, [all, commit]);
      ended += row.lines;
      // Otherwise another transaction changed a line between this statement's snapshot and its lock.
      if (row.lines === row.held) return ended;
    }
    throw new Error(
      `reservations of ${all.join(', ')} were changed ${END_TRIES} times by other transactions while they were being ended`,
    );
  }

  /**
   * Reserves all released lines of an order again, or none. True if the order has all its goods reserved, also if none
   * were released.
   *
   * @internal
   */
  async reserveAgain(tx: EntityManager, orderId: string): Promise<boolean> {
    const [row] = await tx.query<{ fits: boolean }[]>(inventorySql(this.database).reserveAgain, [orderId]);
    return present(row, `a verdict on the stock of order ${orderId}`).fits;
  }

  /**
   * Sets the stock on hand, and creates the SKU if it is new. If you compute the number from one that you read before,
   * sales in between are lost: use `addStock`, or give the number you read as `expected`. `tx` may also be a manager of
   * TypeORM that is in no transaction.
   */
  setStock(tx: Transaction, sku: string, onHand: number, condition: SetStockCondition = {}): Promise<SetStockOutcome> {
    return this.changeStock(tx, sku, [onHand, null, condition.expected ?? null]);
  }

  /** Adds units to the stock on hand, or removes them if negative. Creates a new SKU. `tx` as for `setStock`. */
  addStock(tx: Transaction, sku: string, add: number): Promise<SetStockOutcome> {
    return this.changeStock(tx, sku, [null, add, null]);
  }

  /** Stock levels of those of these SKUs that exist, in SKU order. */
  async read(tx: Transaction, skus: readonly string[]): Promise<StockLevel[]> {
    const rows = await statementsOf(tx).query<LevelRow[]>(inventorySql(this.database).read, [skus]);
    return rows.map(levelOf);
  }

  private changeStock(tx: Transaction, sku: string, change: readonly (number | null)[]): Promise<SetStockOutcome> {
    return joinStatements(this.database.schema, tx, (statements) => this.writeStock(statements, sku, change));
  }

  private async writeStock(
    statements: Statements,
    sku: string,
    change: readonly (number | null)[],
  ): Promise<SetStockOutcome> {
    for (let tries = 1; tries <= SET_TRIES; tries += 1) {
      const [row] = await statements.query<[ChangedRow]>(inventorySql(this.database).setStock, [sku, ...change]);
      if (row.type !== 'set' || row.written > 0) return toOutcome(sku, row);
    }
    throw new Error(`SKU "${sku}" was created ${SET_TRIES} times by other transactions while its stock was being set`);
  }

  /**
   * Deletes the ended reservations of these orders. Lines that are still reserved stay, because the counters include
   * them.
   *
   * @internal
   */
  async forget(tx: EntityManager, orderIds: readonly string[]): Promise<void> {
    await tx.query(inventorySql(this.database).forget, [orderIds]);
  }

  /** Compares all counters with their reservations; empty means consistent. Reads both tables whole: run it rarely. */
  async audit(tx: Transaction): Promise<StockDifference[]> {
    return statementsOf(tx).query(inventorySql(this.database).audit);
  }
}

interface WantedRow {
  readonly sku: string;
  readonly wanted: number;
  readonly available: number | null;
  readonly owner: string | null;
  readonly fits: boolean;
}

interface ChangedRow {
  readonly type: SetStockOutcome['type'];
  readonly found: number;
  readonly reserved: number;
  readonly on_hand: number;
  readonly written: number;
}

interface LevelRow {
  readonly sku: string;
  readonly on_hand: number;
  readonly reserved: number;
  readonly merchant_id?: string | null;
}

function levelOf({ sku, on_hand: onHand, reserved, merchant_id: merchantId }: LevelRow): StockLevel {
  const owner = merchantId ? { merchantId } : {};
  return { sku, onHand, reserved, available: onHand - reserved, ...owner };
}

function toOutcome(sku: string, { type, found, reserved, on_hand: onHand }: ChangedRow): SetStockOutcome {
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

function refusal(rows: readonly WantedRow[], demands: readonly StockDemand[]): ReserveOutcome {
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
function skusUnknownTo(
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
