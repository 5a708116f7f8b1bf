import { type Transaction } from '../../database';

/** How to book a payment that a provider confirms. */
export interface Confirmation {
  readonly tx?: Transaction | undefined;
  /** The merchant account of the attempt that was looked up; null: none. */
  readonly account: string | null;
  /** The order's attempts were looked up just now; see LockedContext. @default false */
  readonly verified?: boolean;
  /** The caller books more payments of the order and calls HandleUnmatched once for all of them. @default false */
  readonly handlesUnmatchedLater?: boolean;
}
