import { type ListOrders, type OrderList, type OrderPage, type Orders, type OrderView } from '../../orders';
import { type MerchantScope } from '../http';

/** Which orders to show. */
export interface OrderSearch extends OrderPage {
  /** The id, a payment's reference, the merchant, or the trace id of orders. */
  readonly q?: string | undefined;
}

/** One row of the list of orders. The amount is in minor units. */
export type OrderSummaryView = Pick<
  OrderView,
  | 'id'
  | 'merchantId'
  | 'status'
  | 'amount'
  | 'currency'
  | 'expiresAt'
  | 'expired'
  | 'autoClose'
  | 'createdAt'
  | 'payable'
>;

export interface OrderSearchPage {
  readonly orders: readonly OrderSummaryView[];
  readonly next: string | null;
}

/** A rare filter is searched for this long. Then the page shows what was found, and goes on. */
const BUDGET_MS = 100;
const ORDER_ID = /^[A-Za-z0-9_:.-]{1,64}$/;
const TRACE = /^(?:[0-9a-f]{2}-)?([0-9a-f]{32})(?:-[0-9a-f]{16}-[0-9a-f]{2})?$/;

/** Finds orders for the operator page. */
export class SearchOrders {
  constructor(
    private readonly orders: Pick<Orders, 'get'>,
    private readonly listing: ListOrders,
  ) {}

  /** @throws HttpProblem FORBIDDEN if the filter names a merchant that the operator may not see. */
  async execute({ q, ...page }: OrderSearch, scope: MerchantScope): Promise<OrderSearchPage> {
    const within = { ...page, merchants: scope.visible(page.merchantId) };
    const { orders, next } = await (q === undefined ? this.list(within) : this.find(q, within, scope));
    return { orders: orders.map(toRow), next };
  }

  private list(page: OrderPage): Promise<OrderList> {
    return this.listing.execute(page, BUDGET_MS);
  }

  /** What names few orders comes first. */
  private async find(q: string, page: OrderPage, scope: MerchantScope): Promise<OrderList> {
    const exact = ORDER_ID.test(q) && page.cursor === undefined ? await this.orders.get(q) : undefined;
    if (exact && scope.allows(exact.merchantId)) return { orders: [exact], next: null };
    const referred = await this.list({ ...page, reference: q });
    if (referred.orders.length > 0) return referred;
    const trace = TRACE.exec(q)?.[1];
    if (trace !== undefined) return this.list({ ...page, trace });
    if (!ORDER_ID.test(q) || !scope.allows(q)) return { orders: [], next: null };
    return this.list({ ...page, merchantId: q });
  }
}

function toRow(order: OrderView): OrderSummaryView {
  const { id, merchantId, status, amount, currency, expiresAt, expired, autoClose, createdAt, payable } = order;
  return { id, merchantId, status, amount, currency, expiresAt, expired, autoClose, createdAt, payable };
}
