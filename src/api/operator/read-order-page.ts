import { ownQuery } from '../../database';
import { type Inventory } from '../../inventory';
import { type Orders, type ReadDossier } from '../../orders';
import { unsentEventsOf } from '../../outbox';
import { type ResolvedTimeoutsOptions, type TimeoutSummary } from '../../timeouts';
import { type OrderPageView, toOrderPage } from './order-page';

interface Dependencies {
  readonly orders: Orders;
  readonly dossiers: ReadDossier;
  readonly timeouts: TimeoutSummary;
  readonly inventory: Inventory;
  readonly options: ResolvedTimeoutsOptions;
}

/** Reads everything about one order that operators may see. */
export class ReadOrderPage {
  constructor(private readonly deps: Dependencies) {}

  /** Undefined: there is no such order. */
  async execute(orderId: string): Promise<OrderPageView | undefined> {
    const { orders, dossiers, timeouts, inventory, options } = this.deps;
    const dossier = await dossiers.execute(orderId);
    const order = dossier && (await orders.get(orderId));
    if (!order) return undefined;
    const history = await orders.history(orderId);
    const queries = { query: <T>(sql: string, values?: unknown[]) => ownQuery<T>(options.dataSource, sql, values) };
    const stock = await inventory.reservations(queries, orderId);
    const unsent = await unsentEventsOf(options.dataSource, options.schema, orderId);
    return toOrderPage(order, history, dossier, { stock, unsent, timeouts: await timeouts.find(dossier.timeouts) });
  }
}
