/** One attempt to be paid, as a provider knows it. */
export interface PaymentAttemptRef {
  /** Name of the provider that made the attempt: the key in PaymentProviders. */
  readonly provider: string;
  /** The number we gave the provider (out_trade_no, intent id): unique per provider. */
  readonly reference: string;
  /** Which of several merchants of this provider; absent: the provider's only or default one. */
  readonly merchantAccount?: string;
  /** What the buyer is asked for, in minor units of `currency`. */
  readonly amount: bigint;
  /** ISO 4217, upper case. */
  readonly currency: string;
  /** When the attempt was registered; young attempts are treated with care by some providers. */
  readonly createdAt: Date;
  /** The instant after which the provider promised to refuse the buyer, if one was sent to it. */
  readonly timeExpire?: Date;
}
