/** One payment of a buyer: what a bank has taken, and what it gave back. */
export interface BankPayment {
  /** Which order the buyer has in mind. */
  readonly orderId: string;
  readonly reference: string;
  /** Null: the bank has no merchant accounts. */
  readonly account: string | null;
  readonly transactionId: string;
  readonly amount: bigint;
  readonly currency: string;
  readonly paidAt: number;
  /** When the bank first said to the service that it is there. */
  statedAt?: number;
  refunded: bigint;
  isDisputed?: boolean;
  /** A person has sent it back, outside of the service. */
  isWired?: boolean;
  /** From another bank: to this one, the money is still here. */
  isWiredElsewhere?: boolean;
  /** Somebody has taken the news of it. */
  isTold?: boolean;
  /** Somebody has taken the news of that the buyer's bank takes it back. */
  isToldDisputed?: boolean;
  readonly refunds: Map<string, BankRefund>;
}

export interface BankRefund {
  readonly amount: bigint;
  status: 'PENDING' | 'REFUNDED' | 'REJECTED';
}

/** What a shop has asked a buyer to pay. */
export interface Intent {
  readonly orderId: string;
  readonly reference: string;
  readonly account: string | null;
  readonly amount: bigint;
  /** For its order. */
  isRegistered: boolean;
  readonly openedAt: number;
  /** When the bank takes no money for it any more, whoever asks; Infinity: never. */
  readonly expiresAt: number;
  /** Whether a buyer has looked at it. */
  isScanned: boolean;
  closedAt?: number;
  takesSeveral: boolean;
}

/** A payment link, as the shop has it from the bank. */
export interface Link {
  readonly reference: string;
  readonly account: string | null;
}

/** As an attempt has it. */
export interface Expiry {
  readonly timeExpire?: Date;
}

/** A payment that was begun, and has failed. */
export interface Debit extends Link {
  readonly transactionId: string;
  /** The order that a shop had paid by it. */
  orderId?: string;
  /** Somebody has taken the news that something has changed. */
  isTold: boolean;
}

/** What the bank itself has given back. */
export function returnedOf({ refunds, refunded, isWiredElsewhere }: BankPayment): bigint {
  if (isWiredElsewhere !== true) return refunded;
  return [...refunds.values()].reduce((sum, { status, amount }) => sum + (status === 'REFUNDED' ? amount : 0n), 0n);
}
