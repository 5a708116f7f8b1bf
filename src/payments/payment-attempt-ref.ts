/** A payment attempt, as the provider knows it. */
export interface PaymentAttemptRef {
  /** Name of the provider, as in PaymentProviders. */
  readonly provider: string;
  /** The merchant reference at the provider (out_trade_no, intent id). Unique per provider. */
  readonly reference: string;
  /** Merchant account at the provider. Absent: the only or default one. */
  readonly merchantAccount?: string;
  /** What the buyer must pay, in minor units of `currency`. */
  readonly amount: bigint;
  /** ISO 4217, upper case. */
  readonly currency: string;
  /** When the attempt was registered. Some providers need more care with a recent attempt. */
  readonly createdAt: Date;
  /** The time after which the provider refuses the buyer, if one was sent to the provider. */
  readonly timeExpire?: Date;
}
