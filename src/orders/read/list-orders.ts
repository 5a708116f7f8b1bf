import { type DataSource, type EntityManager } from 'typeorm';
import { type Clock } from '../../clock';
import { ownTransaction } from '../../database';
import { type TimeoutScheduler } from '../../timeouts';
import { checkPage } from '../input/check-bulk';
import { paymentTimeout } from '../order-timeouts';
import { type OrderView } from '../order-view';
import { FindOrders } from '../sql/find-orders';
import { ReadViews } from '../sql/read-views';
import { isOverdue } from './is-overdue';
import { type ScopedFilter } from './order-filter';
import { encodePosition, type OrderPosition } from './order-position';

/** Which orders to list, and where to begin. */
export interface OrderPage extends ScopedFilter {
  /** 1 to 200. @default 50 */
  readonly limit?: number | undefined;
  /** `next` of the previous page. */
  readonly cursor?: string | undefined;
}

/** One page of orders, newest first. */
export interface OrderList {
  /** May be fewer than asked for, and even none, although there are more pages. */
  readonly orders: readonly OrderView[];
  /** The `cursor` of the next page. Null: this is the last one. */
  readonly next: string | null;
}

interface Dependencies {
  readonly dataSource: DataSource;
  readonly schema: string;
  readonly scheduler: TimeoutScheduler;
  readonly clock: Clock;
}

const DEFAULT_LIMIT = 50;
/** A rare filter reads millions of orders in vain. After this time, the caller gets what was found, and goes on. */
const BUDGET_MS = 1_000;

/** Positions of orders, and where the search ended. */
export interface FoundPage {
  readonly positions: readonly OrderPosition[];
  /** Undefined: there are no more. */
  readonly next: OrderPosition | undefined;
}

/** Where to search, for how many, and for how long. */
interface Search {
  readonly after: OrderPosition | undefined;
  readonly limit: number;
  readonly budgetMs: number;
}

/** Lists orders by a filter, newest first. Pages are stable: orders that are placed meanwhile do not shift them. */
export class ListOrders {
  private readonly finding: FindOrders;
  private readonly views: ReadViews;

  constructor(private readonly deps: Dependencies) {
    this.finding = new FindOrders(deps.schema);
    this.views = new ReadViews(deps.schema);
  }

  /**
   * @param budgetMs how long to search for more.
   * @throws InvalidOrderError if the page is malformed.
   */
  async execute(page: OrderPage = {}, budgetMs = BUDGET_MS): Promise<OrderList> {
    const after = checkPage(page);
    const { limit = DEFAULT_LIMIT } = page;
    return ownTransaction(this.deps.dataSource, async (tx) => {
      const { positions, next } = await this.findWith(tx, page, { after, limit, budgetMs });
      return { orders: await this.read(tx, positions), next: next ? encodePosition(next) : null };
    });
  }

  /** The positions alone, for bulk actions. */
  find(filter: ScopedFilter, after: OrderPosition | undefined, limit: number): Promise<FoundPage> {
    return ownTransaction(this.deps.dataSource, (tx) =>
      this.findWith(tx, filter, { after, limit, budgetMs: BUDGET_MS }),
    );
  }

  /** One more than wanted is sought, which tells whether there is a next page. */
  private async findWith(
    tx: EntityManager,
    filter: ScopedFilter,
    { after, limit, budgetMs }: Search,
  ): Promise<FoundPage> {
    const { clock } = this.deps;
    await this.finding.begin(tx);
    const endsAt = clock.monotonic() + budgetMs;
    let positions: readonly OrderPosition[] = [];
    for (let from = after; ;) {
      const step = await this.finding.execute(tx, filter, from, limit + 1 - positions.length);
      positions = positions.concat(step.found);
      if (positions.length > limit) return { positions: positions.slice(0, limit), next: positions[limit - 1] };
      if (!step.scannedTo || clock.monotonic() >= endsAt) return { positions, next: step.scannedTo };
      from = step.scannedTo;
    }
  }

  private async read(tx: EntityManager, positions: readonly OrderPosition[]): Promise<OrderView[]> {
    const ids = positions.map(({ id }) => id);
    const found = await this.views.execute(tx, ids);
    const rows = ids.flatMap((id) => found.get(id) ?? []);
    const overdue = rows.filter(isOverdue).map(({ order }) => paymentTimeout(order.id));
    if (overdue.length > 0) this.deps.scheduler.wake(overdue, 'passive');
    return rows.map(({ view }) => view);
  }
}
