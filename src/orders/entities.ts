import { EntitySchema, type EntitySchemaColumnOptions } from 'typeorm';
import { type EntityTable, OF_ORDER, READ_ONLY, type ReservationEntity, STOCK_TABLES, textColumn } from '../inventory';
import { type AttemptStatus, type OrderStatus, type PaidSource } from './model/order';
import { type TransitionCause } from './model/transition';
import { type RefundReason, type UnmatchedHandling, type UnmatchedReason } from './model/unmatched-money';

/** A row of `orders`. Amounts are in minor units. */
export class OrderEntity {
  declare readonly id: string;
  declare readonly merchantId: string;
  declare readonly status: OrderStatus;
  /** Grows with each change, and is the version of its history row. */
  declare readonly version: number;
  declare readonly amount: number;
  declare readonly currency: string;
  declare readonly expiresAt: Date;
  declare readonly autoClose: boolean;
  declare readonly metadata: Readonly<Record<string, unknown>> | null;
  declare readonly createdAt: Date;
  declare readonly updatedAt: Date;
  declare readonly paidAt: Date | null;
  declare readonly closedAt: Date | null;
  /** When its personal data was erased. */
  declare readonly erasedAt: Date | null;
  declare readonly lines: OrderLineEntity[];
  declare readonly attempts: PaymentAttemptEntity[];
  declare readonly history: OrderHistoryEntity[];
  declare readonly refunds: RefundEntity[];
  declare readonly reservations: ReservationEntity[];
}

/** A row of `order_line`. */
export class OrderLineEntity {
  declare readonly orderId: string;
  declare readonly lineNo: number;
  declare readonly sku: string;
  declare readonly quantity: number;
  declare readonly unitAmount: number;
  declare readonly order: OrderEntity;
}

/** A row of `payment_attempt`. The key is provider, reference, and account (empty: none). */
export class PaymentAttemptEntity {
  declare readonly provider: string;
  declare readonly reference: string;
  declare readonly merchantAccount: string;
  declare readonly orderId: string;
  declare readonly status: AttemptStatus;
  declare readonly amount: number;
  declare readonly currency: string;
  /** False: only a report has named it. */
  declare readonly registered: boolean;
  declare readonly createdAt: Date;
  declare readonly paidAmount: number | null;
  declare readonly paidCurrency: string | null;
  declare readonly paidAt: Date | null;
  declare readonly paidSource: PaidSource | null;
  declare readonly transactionId: string | null;
  declare readonly refundedAmount: number;
  declare readonly order: OrderEntity;
}

/** A row of `order_history`: one change of an order. */
export class OrderHistoryEntity {
  declare readonly orderId: string;
  declare readonly version: number;
  declare readonly fromStatus: OrderStatus | null;
  declare readonly toStatus: OrderStatus;
  declare readonly cause: TransitionCause;
  declare readonly actor: string | null;
  declare readonly reason: string | null;
  declare readonly evidence: Readonly<Record<string, unknown>> | null;
  declare readonly occurredAt: Date;
  declare readonly order: OrderEntity;
}

/** A row of `refund`. */
export class RefundEntity {
  declare readonly number: string;
  declare readonly provider: string;
  declare readonly reference: string;
  declare readonly merchantAccount: string;
  declare readonly orderId: string;
  declare readonly amount: number;
  declare readonly currency: string;
  declare readonly reason: RefundReason;
  declare readonly status: 'PENDING' | 'REFUNDED';
  declare readonly createdAt: Date;
  declare readonly refundedAt: Date | null;
  declare readonly order: OrderEntity;
}

/** A row of `unmatched_payment`. Its order may not exist. */
export class UnmatchedPaymentEntity {
  declare readonly id: string;
  declare readonly provider: string;
  declare readonly reference: string;
  declare readonly merchantAccount: string;
  declare readonly orderId: string | null;
  declare readonly amount: number;
  declare readonly currency: string;
  declare readonly source: PaidSource;
  declare readonly reason: UnmatchedReason;
  declare readonly handling: UnmatchedHandling;
  declare readonly createdAt: Date;
  declare readonly resolvedAt: Date | null;
  declare readonly resolvedBy: string | null;
  declare readonly resolution: string | null;
}

/**
 * The tables of orders and stock as TypeORM entities, for reading through repositories and relations: give them to the
 * `entities` of your DataSource. They are never written (every column is excluded from inserts and updates), and
 * `synchronize` and generated migrations leave the tables alone.
 *
 * @param schema the module's `schema`.
 */
export function orderEntities(schema = 'order_timeout'): EntitySchema[] {
  return entityTables().map(
    ({ target, ...table }) => new EntitySchema({ ...table, schema, synchronize: false, name: target.name, target }),
  );
}

/** Also what deciding about an order needs to see. */
export function entityTables(): readonly EntityTable[] {
  return [...TABLES, ...STOCK_TABLES];
}

const attemptKey = (primary: boolean) => ({
  provider: { ...textColumn('provider'), primary },
  reference: { ...textColumn('reference'), primary },
  merchantAccount: { ...textColumn('merchant_account'), primary },
});

function count(name: string): EntitySchemaColumnOptions {
  return { ...READ_ONLY, name, type: 'int' };
}

/** Every amount is at most 2⁵³ − 1, so a number is exact. */
function amount(name: string): EntitySchemaColumnOptions {
  const transformer = { from: (value: string | null) => (value === null ? null : Number(value)), to: String };
  return { ...READ_ONLY, name, type: 'bigint', transformer };
}

const money = { amount: amount('amount'), currency: textColumn('currency') };

function instant(name: string): EntitySchemaColumnOptions {
  return { ...READ_ONLY, name, type: 'timestamptz' };
}

function json(name: string): EntitySchemaColumnOptions {
  return { ...READ_ONLY, name, type: 'jsonb', nullable: true };
}

function optional(column: EntitySchemaColumnOptions): EntitySchemaColumnOptions {
  return { ...column, nullable: true };
}

const TABLES: readonly EntityTable[] = [
  {
    target: OrderEntity,
    tableName: 'orders',
    columns: {
      id: { ...textColumn('id'), primary: true },
      merchantId: textColumn('merchant_id'),
      status: textColumn('status'),
      version: count('version'),
      ...money,
      expiresAt: instant('expires_at'),
      autoClose: { ...READ_ONLY, name: 'auto_close', type: 'boolean' },
      metadata: json('metadata'),
      createdAt: instant('created_at'),
      updatedAt: instant('updated_at'),
      paidAt: optional(instant('paid_at')),
      closedAt: optional(instant('closed_at')),
      erasedAt: optional(instant('erased_at')),
    },
    relations: {
      lines: { type: 'one-to-many', target: 'OrderLineEntity', inverseSide: 'order' },
      attempts: { type: 'one-to-many', target: 'PaymentAttemptEntity', inverseSide: 'order' },
      history: { type: 'one-to-many', target: 'OrderHistoryEntity', inverseSide: 'order' },
      refunds: { type: 'one-to-many', target: 'RefundEntity', inverseSide: 'order' },
      reservations: { type: 'one-to-many', target: 'ReservationEntity', inverseSide: 'order' },
    },
  },
  {
    target: OrderLineEntity,
    tableName: 'order_line',
    columns: {
      orderId: { ...textColumn('order_id'), primary: true },
      lineNo: { ...count('line_no'), primary: true },
      sku: textColumn('sku'),
      quantity: count('quantity'),
      unitAmount: amount('unit_amount'),
    },
    relations: OF_ORDER,
  },
  {
    target: PaymentAttemptEntity,
    tableName: 'payment_attempt',
    columns: {
      ...attemptKey(true),
      orderId: textColumn('order_id'),
      status: textColumn('status'),
      ...money,
      registered: { ...READ_ONLY, name: 'registered', type: 'boolean' },
      createdAt: instant('created_at'),
      paidAmount: optional(amount('paid_amount')),
      paidCurrency: optional(textColumn('paid_currency')),
      paidAt: optional(instant('paid_at')),
      paidSource: optional(textColumn('paid_source')),
      transactionId: optional(textColumn('transaction_id')),
      refundedAmount: amount('refunded_amount'),
    },
    relations: OF_ORDER,
  },
  {
    target: OrderHistoryEntity,
    tableName: 'order_history',
    columns: {
      orderId: { ...textColumn('order_id'), primary: true },
      version: { ...count('version'), primary: true },
      fromStatus: optional(textColumn('from_status')),
      toStatus: textColumn('to_status'),
      cause: textColumn('cause'),
      actor: optional(textColumn('actor')),
      reason: optional(textColumn('reason')),
      evidence: json('evidence'),
      occurredAt: instant('occurred_at'),
    },
    relations: OF_ORDER,
  },
  {
    target: RefundEntity,
    tableName: 'refund',
    columns: {
      number: { ...textColumn('number'), primary: true },
      ...attemptKey(false),
      orderId: textColumn('order_id'),
      ...money,
      reason: textColumn('reason'),
      status: textColumn('status'),
      createdAt: instant('created_at'),
      refundedAt: optional(instant('refunded_at')),
    },
    relations: OF_ORDER,
  },
  {
    target: UnmatchedPaymentEntity,
    tableName: 'unmatched_payment',
    columns: {
      id: { ...READ_ONLY, name: 'id', type: 'uuid', primary: true },
      ...attemptKey(false),
      orderId: optional(textColumn('order_id')),
      ...money,
      source: textColumn('source'),
      reason: textColumn('reason'),
      handling: textColumn('handling'),
      createdAt: instant('created_at'),
      resolvedAt: optional(instant('resolved_at')),
      resolvedBy: optional(textColumn('resolved_by')),
      resolution: optional(textColumn('resolution')),
    },
  },
];
