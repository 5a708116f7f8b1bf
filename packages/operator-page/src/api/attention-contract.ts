/** Identifies a timeout. */
export interface TimeoutRef {
  readonly kind: string;
  readonly key: string;
}

export interface ParkedTimeout extends TimeoutRef {
  readonly dueAt: string;
  readonly attempts: number;
  readonly lastError: string | null;
}

export interface ParkedGroup {
  readonly kind: string;
  /** Empty: not recorded. */
  readonly reason: string;
  readonly count: number;
  readonly oldestAt: string;
}

export interface Refund {
  readonly number: string;
  readonly orderId: string;
  readonly provider: string;
  readonly reference: string;
  readonly amount: number;
  readonly currency: string;
  readonly reason: string;
  /** Null: a policy. */
  readonly requestedBy: string | null;
  readonly createdAt: string;
  /** What asks the provider; it is parked if the refund has failed. */
  readonly timeout: ParkedTimeout;
}

/** A row of the outbox that can never be sent as it is. */
export interface ParkedOutboxRow {
  readonly id: string;
  readonly route: string;
  readonly routingKey: string;
  readonly reason: string;
  readonly createdAt: string;
  readonly bytes: number;
}

/** A message in the parked queue, without its body, which may hold personal data. */
export interface ParkedMessage {
  /** Empty: it has none. */
  readonly id: string;
  readonly routingKey: string;
  readonly code: string | null;
  readonly reason: string | null;
}

/** What one call of a bulk action did. */
export interface BulkResult {
  readonly dryRun: boolean;
  readonly count: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly sample: readonly { readonly id: string; readonly outcome: string }[];
  readonly next: string | null;
}
