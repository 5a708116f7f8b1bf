import { type OrderStatus } from 'nestjs-order-timeout';

/** An entry of the append-only history. Instants are epoch milliseconds by the database's clock. */
export interface HistoryFact {
  readonly version: number;
  readonly from: string | null;
  readonly to: string;
  readonly cause: string;
  readonly occurredAt: number;
}

export interface ReservationFact {
  readonly sku: string;
  readonly quantity: number;
  readonly state: string;
}

/** An event as a subscriber got it; `deliveries` of the same id count once. */
export interface EventFact {
  readonly id: string;
  readonly type: string;
  readonly orderId: string;
  readonly orderVersion: number;
  readonly deliveries: number;
  /** Of `order.payment_late`: the payment that it is about. */
  readonly reference?: string | undefined;
  readonly merchantAccount?: string | undefined;
  /** Of `timeout.parked`. */
  readonly key?: string | undefined;
}

/** Money that the service keeps without an order. */
export interface UnmatchedFact {
  readonly orderId: string;
  readonly reason: string;
  readonly says: string;
}

/** A row of orders. Instants are epoch milliseconds by the database's clock. */
export interface StoredOrder {
  readonly id: string;
  readonly status: OrderStatus;
  readonly version: number;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly graceMs: number;
}

/** Everything that the database says of one order. */
export interface OrderRecord extends StoredOrder {
  /** By version. */
  readonly history: readonly HistoryFact[];
  readonly reservations: readonly ReservationFact[];
}

export interface StockLevel {
  readonly sku: string;
  readonly onHand: number;
  readonly reserved: number;
}
