import { type EntityManager } from 'typeorm';
import { type Order } from '../order';
import { type AttemptView, hasExpired, isPayable, type OrderLineView, type OrderView } from '../order-view';
import { accountOfAttempt, type PaymentAttempt } from '../payment-attempt';
import { ATTEMPT_COLUMNS, type AttemptRow, ORDER_COLUMNS, type OrderRow, toAttempt, toOrder } from './order-row';

interface ViewRow extends OrderRow {
  readonly now: Date;
  readonly metadata: Record<string, unknown> | null;
  readonly lines: OrderLineView[] | null;
  readonly attempts: AttemptRow[] | null;
}

/** An order as shown to callers, and as stored. */
export interface ReadOrderRow {
  readonly view: OrderView;
  readonly order: Order;
  readonly now: Date;
}

/** Reads orders with lines and attempts in one statement. */
export class ReadViews {
  private readonly sql: string;

  constructor(schema: string) {
    this.sql = `
      SELECT ${ORDER_COLUMNS}, o.metadata, clock_timestamp() AS now,
             (SELECT json_agg(json_build_object('sku', l.sku, 'quantity', l.quantity, 'unitAmount', l.unit_amount)
                              ORDER BY l.line_no)
                FROM ${schema}.order_line l WHERE l.order_id = o.id) AS lines,
             (SELECT json_agg(found) FROM (
                SELECT ${ATTEMPT_COLUMNS} FROM ${schema}.payment_attempt a WHERE a.order_id = o.id
                 ORDER BY a.created_at, a.provider, a.reference) found) AS attempts
        FROM ${schema}.orders o WHERE o.id = ANY($1::text[])`;
  }

  async execute(tx: EntityManager, ids: readonly string[]): Promise<Map<string, ReadOrderRow>> {
    if (ids.length === 0) return new Map();
    const rows = await tx.query<ViewRow[]>(this.sql, [ids]);
    return new Map(
      rows.map((row) => {
        const order = toOrder(row);
        const attempts = (row.attempts ?? []).map(toAttempt);
        return [row.id, { order, now: row.now, view: toView(order, row.lines ?? [], attempts, row.metadata, row.now) }];
      }),
    );
  }
}

/** Pure: returns the public view of an order at `now`. */
export function toView(
  order: Order,
  lines: readonly OrderLineView[],
  attempts: readonly PaymentAttempt[],
  metadata: Readonly<Record<string, unknown>> | null,
  now: Date,
): OrderView {
  const { id, merchantId, status, version, currency, expiresAt, autoClose, createdAt, paidAt, closedAt } = order;
  return {
    id,
    merchantId,
    status,
    version,
    amount: Number(order.amount),
    currency,
    expiresAt,
    expired: hasExpired(order, now),
    payable: isPayable(order, now),
    autoClose,
    lines,
    attempts: attempts.map(toAttemptView),
    ...(metadata ? { metadata } : {}),
    createdAt,
    ...(paidAt ? { paidAt } : {}),
    ...(closedAt ? { closedAt } : {}),
  };
}

function toAttemptView(attempt: PaymentAttempt): AttemptView {
  const { provider, reference, status, currency, timeExpire, createdAt } = attempt;
  const { paidAmount, paidAt, transactionId } = attempt;
  const merchantAccount = accountOfAttempt(attempt);
  return {
    provider,
    reference,
    status,
    amount: Number(attempt.amount),
    currency,
    ...(merchantAccount === null ? {} : { merchantAccount }),
    ...(timeExpire === null ? {} : { timeExpire }),
    createdAt,
    ...(paidAmount === null ? {} : { paidAmount: Number(paidAmount) }),
    ...(paidAt === null ? {} : { paidAt }),
    ...(transactionId === null ? {} : { transactionId }),
  };
}
