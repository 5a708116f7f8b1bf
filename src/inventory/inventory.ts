import { present } from '../errors';
import { type EntityManager } from 'typeorm';
import { InventoryQueries } from './inventory-queries';
import {
  type ReserveOutcome,
  type SetStockCondition,
  type SetStockOutcome,
  type StockDemand,
  type StockDifference,
  type StockEffect,
  type StockLevel,
} from './stock';
import { mergeLines } from './merge-lines';
import { type ChangedRow, levelOf, type LevelRow, refusal, toOutcome, type WantedRow } from './stock-rows';

interface EndedRow {
  readonly lines: number;
  /** What there was to end; more than `lines` when somebody else was at it. */
  readonly held: number;
}

/** Each needs somebody else's change in a moment of milliseconds. */
const END_TRIES = 5;

/** A sku is created once, so the second try finds it; the third is for a caller's older snapshot. */
const SET_TRIES = 3;

/**
 * Stock and its reservations. Everything runs in the caller's transaction, for many orders at once, and locks sku
 * rows in one global order; call it last in a transaction, as a popular sku is waited for by many.
 */
export class Inventory {
  private readonly queries: InventoryQueries;

  /** @param schema validated name of the PostgreSQL schema. */
  constructor(schema: string) {
    this.queries = new InventoryQueries(schema);
  }

  /** Reserves all demands or none. Idempotent per (order, sku). */
  async reserve(tx: EntityManager, demands: readonly StockDemand[]): Promise<ReserveOutcome> {
    const lines = demands.flatMap(({ orderId, merchantId = null, lines }) =>
      mergeLines(lines).map((line) => ({ orderId, merchantId, ...line })),
    );
    if (lines.length === 0) return { type: 'reserved' };
    const rows = await tx.query<WantedRow[]>(this.queries.reserve, [
      lines.map((line) => line.orderId),
      lines.map((line) => line.sku),
      lines.map((line) => line.quantity),
      lines.map((line) => line.merchantId),
    ]);
    return rows.every((row) => row.fits) ? { type: 'reserved' } : refusal(rows, demands);
  }

  /**
   * Locks every sku of these orders, also what they have given back, in the global order. Before `reserveAgain` of
   * several orders in one transaction: one after the other they would lock in as many orders as there are of them.
   */
  async lockAll(tx: EntityManager, orderIds: readonly string[]): Promise<void> {
    if (orderIds.length > 0) await tx.query(this.queries.lockGiven, [orderIds]);
  }

  /**
   * As `lockAll`, but does not wait: returns the orders that have a SKU which another transaction holds. If two batches share
   * a popular SKU, one of them gets none of its orders, so use it only after a wait for the lock has failed.
   */
  async lockFree(tx: EntityManager, orderIds: readonly string[]): Promise<ReadonlySet<string>> {
    if (orderIds.length === 0) return new Set();
    const held = await tx.query<{ order_id: string }[]>(this.queries.lockFree, [orderIds]);
    return new Set(held.map((row) => row.order_id));
  }

  /** Gives back what these orders hold. Returns how many lines that were; zero when repeated. */
  release(tx: EntityManager, orderIds: readonly string[]): Promise<number> {
    return this.end(tx, { release: orderIds });
  }

  /** Turns what these orders hold into sold goods. Returns how many lines that were; zero when repeated. */
  commit(tx: EntityManager, orderIds: readonly string[]): Promise<number> {
    return this.end(tx, { commit: orderIds });
  }

  /**
   * Ends what these orders hold: goods of those in `commit` are sold, those of the others go back on sale. Returns how many
   * lines that were; zero when repeated.
   */
  async end(
    tx: EntityManager,
    { release = [], commit = [] }: Partial<Record<StockEffect, readonly string[]>>,
  ): Promise<number> {
    const all = [...new Set([...release, ...commit])];
    if (all.length === 0) return 0;
    let ended = 0;
    for (let tries = 1; tries <= END_TRIES; tries += 1) {
      const [row] = await tx.query<[EndedRow]>(this.queries.end, [all, commit]);
      ended += row.lines;
      // Less than all: somebody changed a line between this statement's snapshot and its lock.
      if (row.lines === row.held) return ended;
    }
    throw new Error(`reservations of ${all.join(', ')} were changed ${END_TRIES} times while they were to end`);
  }

  /**
   * Reserves anew what an order had given back: all its lines, or none. True: the order holds its goods again, as it
   * does when nothing had been given back.
   */
  async reserveAgain(tx: EntityManager, orderId: string): Promise<boolean> {
    const [row] = await tx.query<{ fits: boolean }[]>(this.queries.reserveAgain, [orderId]);
    return present(row, `a verdict on the stock of order ${orderId}`).fits;
  }

  /**
   * Sets what is on hand, and creates the sku if it is new. A number that was read before overwrites what was sold
   * meanwhile: use `addStock`, or give what you have read as `expected`. `tx` may be any manager.
   */
  setStock(
    tx: EntityManager,
    sku: string,
    onHand: number,
    condition: SetStockCondition = {},
  ): Promise<SetStockOutcome> {
    return this.changeStock(tx, sku, [onHand, null, condition.expected ?? null]);
  }

  /** Adds pieces to what is on hand (negative: takes them away), and creates the sku if it is new. `tx` may be any manager. */
  addStock(tx: EntityManager, sku: string, add: number): Promise<SetStockOutcome> {
    return this.changeStock(tx, sku, [null, add, null]);
  }

  /** Levels of the known ones of these skus, by sku. */
  async read(tx: EntityManager, skus: readonly string[]): Promise<StockLevel[]> {
    const rows = await tx.query<LevelRow[]>(this.queries.read, [skus]);
    return rows.map(levelOf);
  }

  private async changeStock(
    tx: EntityManager,
    sku: string,
    change: readonly (number | null)[],
  ): Promise<SetStockOutcome> {
    for (let tries = 1; tries <= SET_TRIES; tries += 1) {
      const [row] = await tx.query<[ChangedRow]>(this.queries.setStock, [sku, ...change]);
      if (row.type !== 'set' || row.written > 0) return toOutcome(sku, row);
    }
    throw new Error(`sku "${sku}" was created ${SET_TRIES} times by others while its stock was to be set`);
  }

  /** Deletes the ended reservations of these orders. What is still reserved stays, as the counters include it. */
  async forget(tx: EntityManager, orderIds: readonly string[]): Promise<void> {
    await tx.query(this.queries.forget, [orderIds]);
  }

  /** Compares every counter with its reservations; empty is healthy. Reads both tables, so run it rarely. */
  audit(tx: EntityManager): Promise<StockDifference[]> {
    return tx.query(this.queries.audit);
  }
}
