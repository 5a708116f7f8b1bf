import { type StockShortage } from '../../inventory';
import { type OrderView } from '../order-view';
import { type ProviderRejection } from './refuse-provider';

/** Money in minor units; a number must be a safe integer. */
export type MinorUnits = number | bigint;

/** An attempt to pay that the caller has begun, or is about to begin, at a provider. */
export interface NewAttempt {
  readonly provider: string;
  /** Our number at the provider, unique per provider. */
  readonly reference: string;
  /** @default the order's amount and currency */
  readonly amount?: MinorUnits | undefined;
  readonly currency?: string | undefined;
  /** After this instant the provider refuses the buyer, because we told it to. Always send one to the provider. */
  readonly timeExpire?: Date | undefined;
  /** Which of several merchants of the provider. */
  readonly merchantAccount?: string | undefined;
  /**
   * False: written down before the provider or the buyer learn of it. Register it again without this before handing
   * it over; until then "not found" at the provider counts as closed.
   * @default true
   */
  readonly handedOver?: boolean | undefined;
}

/** A line of a new order. */
export interface NewOrderLine {
  readonly sku: string;
  readonly quantity: number;
  readonly unitAmount: MinorUnits;
}

/** An order to be placed. Its shape must have been checked. Of `paymentWindowMs` and `expiresAt` give one or none. */
export interface NewOrder {
  /** 1 to 64 of letters, digits and `_-:.`; the order's identity for ever. */
  readonly id: string;
  /** @default 'default' */
  readonly merchantId?: string | undefined;
  readonly amount: MinorUnits;
  readonly currency: string;
  readonly paymentWindowMs?: number | undefined;
  readonly expiresAt?: Date | undefined;
  readonly graceMs?: number | undefined;
  readonly reminderOffsetsMs?: readonly number[] | undefined;
  /** Stock to reserve; may be empty. */
  readonly lines: readonly NewOrderLine[];
  /** @default true */
  readonly autoClose?: boolean | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly attempt?: NewAttempt | undefined;
  /** The caller's own; the same key with another content is refused. Unique per merchant. */
  readonly idempotencyKey?: string | undefined;
}

/** Why an order was not placed. Nothing of it was written. */
export type PlaceRejection =
  | { readonly code: 'ORDER_EXISTS' }
  | { readonly code: 'IDEMPOTENCY_KEY_REUSED' }
  | { readonly code: 'OUT_OF_STOCK'; readonly shortages: readonly StockShortage[] }
  | { readonly code: 'UNKNOWN_SKU'; readonly skus: readonly string[] }
  | { readonly code: 'PAYMENT_WINDOW_OUT_OF_RANGE'; readonly minMs: number; readonly maxMs: number }
  | { readonly code: 'ATTEMPT_EXISTS' }
  | ProviderRejection;

/** What became of one order of a request. `replayed`: the same order had been placed before; this is how it is now. */
export type PlaceResult =
  | { readonly outcome: 'placed' | 'replayed'; readonly id: string; readonly order: OrderView }
  | ({ readonly outcome: 'rejected'; readonly id: string } & PlaceRejection);
