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
