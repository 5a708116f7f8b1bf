import { type PaymentAttemptRef, type PaymentProvider } from '../../payments';

/**
 * How a provider can misbehave under test.
 * - `silent`: takes the request and never answers · `failing`: server error, and nothing is done
 * - `forged`: answers whose signature does not fit · `answers-lost`: does as asked, but the answer never arrives
 */
export type ConformanceFault = 'silent' | 'failing' | 'forged' | 'answers-lost';

/** What the suite needs of the provider's other side: a sandbox or a simulator. */
export interface PaymentProviderBench {
  readonly provider: PaymentProvider;
  /** A new attempt that a buyer could pay now. */
  openAttempt(): Promise<PaymentAttemptRef>;
  /** An attempt that the provider has never heard of. */
  unknownAttempt(): Promise<PaymentAttemptRef>;
  /** The buyer tries to pay. Resolves to whether the provider took the money. */
  pay(attempt: PaymentAttemptRef): Promise<boolean>;
  /** What the provider has really refunded for the attempt so far, in minor units. */
  refunded(attempt: PaymentAttemptRef): Promise<bigint>;
  /** Makes the provider misbehave until the returned function is called. Only for faults given to the suite. */
  inject?(fault: ConformanceFault): Promise<() => Promise<void>>;
}
