import { type EntityManager } from 'typeorm';
import { type Inventory, selectUnfit } from '../../inventory';
import { joinTransaction, onOwnConnection, STATEMENT_MS, type Tables, type Transaction } from '../../database';
import { type PlaceRejection } from './new-order';
import { type OrderDraft } from './order-draft';
import { type InsertOrders } from '../sql/insert-orders';
import { stockRejection } from './stock-rejection';

/** The number of batches that read the stock first after a rejection. Each further rejection starts the count again. */
const LOOKS = 100;

/**
 * Rejects orders that lack stock before anything is written. A rejection under the stock locks rolls back rows in eight
 * tables and leaves them dead: 1.7 KB per order. Reading first costs a round trip, so only the batches after a
 * rejection do it. Reading never accepts an order; that is decided under the locks.
 */
export class RefuseAtSight {
  private looksLeft = 0;

  constructor(
    private readonly tables: Tables,
    private readonly inventory: Inventory,
    private readonly orders: Pick<InsertOrders, 'present'>,
  ) {}

  /**
   * Returns the rejected orders. An order whose id or idempotency key exists is never one of them: a replay takes no
   * stock, and a conflict has its own code.
   */
  async execute(caller: Transaction | undefined, drafts: readonly OrderDraft[]): Promise<Map<string, PlaceRejection>> {
    if (this.looksLeft === 0 || drafts.length === 0) return new Map();
    this.looksLeft -= 1;
    if (caller) return joinTransaction(this.tables, caller, (tx) => this.look(tx, drafts));
    return onOwnConnection(this.tables.dataSource, STATEMENT_MS, ({ manager }) => this.look(manager, drafts));
  }

  /** Makes the next batches read first if any of these rejections is about stock. */
  note(rejections: ReadonlyMap<string, PlaceRejection>): void {
    const isOfStock = ({ code }: PlaceRejection): boolean => code === 'OUT_OF_STOCK' || code === 'UNKNOWN_SKU';
    if ([...rejections.values()].some(isOfStock)) this.looksLeft = LOOKS;
  }

  private async look(manager: EntityManager, drafts: readonly OrderDraft[]): Promise<Map<string, PlaceRejection>> {
    const unfit = await this.unfitOf(manager, drafts);
    // Read after the stock, so that an order that took the last pieces is visible.
    const present = unfit.size === 0 ? new Set() : await this.presentOf(manager, drafts, unfit);
    return new Map([...unfit].filter(([id]) => !present.has(id)));
  }

  private async unfitOf(manager: EntityManager, drafts: readonly OrderDraft[]): Promise<Map<string, PlaceRejection>> {
    const skus = new Set(drafts.flatMap(({ lines }) => lines.map(({ sku }) => sku)));
    const levels = await this.inventory.read(manager, [...skus]);
    const available = new Map(levels.map((level) => [level.sku, level.available]));
    const owners = new Map(levels.flatMap(({ sku, merchantId }) => (merchantId ? [[sku, merchantId] as const] : [])));
    // Checked one by one: an order may be rejected for another reason, and then takes nothing from the next ones.
    const unfit = drafts.flatMap(({ id, merchantId, lines }) =>
      selectUnfit([{ orderId: id, merchantId, lines }], available, owners),
    );
    return new Map(unfit.map((demand) => [demand.orderId, stockRejection(demand)]));
  }

  private async presentOf(
    manager: EntityManager,
    drafts: readonly OrderDraft[],
    unfit: ReadonlyMap<string, unknown>,
  ): Promise<ReadonlySet<unknown>> {
    const candidates = drafts.filter(({ id }) => unfit.has(id));
    const rows = await this.orders.present(manager, candidates);
    const isPresent = (row: (typeof rows)[number]): boolean =>
      row.order_fingerprint !== null || row.key_fingerprint !== null;
    return new Set(rows.filter(isPresent).map(({ id }) => id));
  }
}
