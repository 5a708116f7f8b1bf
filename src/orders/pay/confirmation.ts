import { type EntityManager } from 'typeorm';

/** How a payment that a provider tells of is booked. */
export interface Confirmation {
  readonly caller?: EntityManager | undefined;
  /** The merchant account of the attempt that was asked about; null: none. */
  readonly account: string | null;
  /** The providers of the order were asked just now; see LateContext. @default false */
  readonly verified?: boolean;
  /** The caller books more payments of the order, and then has LatePayments settle them all. @default false */
  readonly settlesLater?: boolean;
}
