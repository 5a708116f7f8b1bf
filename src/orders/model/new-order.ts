import { type StockShortage } from '../../inventory';
import { type PaymentProviders } from '../../payments';
import { type OrderView } from './order';

/** Money in minor units. A number must be a safe integer. */
export type MinorUnits = number | bigint;

/** An attempt to pay that the caller has started, or is about to start, at a provider. */
export interface NewAttempt {
  readonly provider: string;
  /** The merchant reference, unique per provider. */
  readonly reference: string;
  /** @default the order's amount and currency */
  readonly amount?: MinorUnits | undefined;
  readonly currency?: string | undefined;
  /**
   * The time after which the provider rejects the buyer, because it was given this limit. Always send one to the
   * provider.
   */
  readonly timeExpire?: Date | undefined;
  /** One of several merchants of the provider. */
  readonly merchantAccount?: string | undefined;
  /**
   * False: stored before the provider or the buyer receives it. Register it again without this field before you hand it
   * over. Until then, "not found" at the provider counts as closed. @default true
   */
  readonly handedOver?: boolean | undefined;
}

/** An attempt to pay an order that exists. */
export interface OrderAttempt extends NewAttempt {
  readonly orderId: string;
}

/** A line of a new order. */
export interface NewOrderLine {
  readonly sku: string;
  readonly quantity: number;
  readonly unitAmount: MinorUnits;
}

/** An order to be placed. Its shape must have been checked. Give at most one of `paymentWindowMs` and `expiresAt`. */
export interface NewOrder {
  /** 1 to 64 letters, digits, and `_-:.`; the permanent identity of the order. */
  readonly id: string;
  /** @default 'default' */
  readonly merchantId?: string | undefined;
  readonly amount: MinorUnits;
  readonly currency: string;
  readonly paymentWindowMs?: number | undefined;
  readonly expiresAt?: Date | undefined;
  readonly graceMs?: number | undefined;
  readonly reminderOffsetsMs?: readonly number[] | undefined;
  /** Stock to reserve. @default [] */
  readonly lines?: readonly NewOrderLine[] | undefined;
  /** @default true */
  readonly autoClose?: boolean | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly attempt?: NewAttempt | undefined;
  /** Chosen by the caller. The same key with other content is rejected. Unique per merchant. */
  readonly idempotencyKey?: string | undefined;
}

declare const CHECKED: unique symbol;

/** An order whose fields a door has checked by its schema, so that nobody checks them again. */
export type CheckedOrder = NewOrder & { readonly [CHECKED]: true };

/** Why an order was not placed. Nothing of it was written. */
export type PlaceRejection =
  | { readonly code: 'ORDER_EXISTS' }
  | { readonly code: 'IDEMPOTENCY_KEY_REUSED' }
  | { readonly code: 'OUT_OF_STOCK'; readonly shortages: readonly StockShortage[] }
  | { readonly code: 'UNKNOWN_SKU'; readonly skus: readonly string[] }
  | { readonly code: 'PAYMENT_WINDOW_OUT_OF_RANGE'; readonly minMs: number; readonly maxMs: number }
  | { readonly code: 'ATTEMPT_EXISTS' }
  | ProviderRejection;

/**
 * The result for one order of a request. `replayed`: the same order was placed before; `order` is its current state.
 */
export type PlaceResult =
  | { readonly outcome: 'placed' | 'replayed'; readonly id: string; readonly order: OrderView }
  | ({ readonly outcome: 'rejected'; readonly id: string } & PlaceRejection);

/** Why an attempt of a provider is rejected: it could not be looked up, so its order could not be closed. */
export type ProviderRejection =
  | { readonly code: 'PROVIDER_NOT_CONFIGURED'; readonly provider: string; readonly configured: readonly string[] }
  /** The provider has several merchants, and the requested one is missing or not configured. */
  | {
      readonly code: 'MERCHANT_ACCOUNT_NOT_CONFIGURED';
      readonly provider: string;
      readonly merchantAccount: string | null;
    };

/** Pure: returns undefined if this process can look up such an attempt. @param attempt with its account resolved. */
export function refuseProvider(
  { provider: name, merchantAccount = null }: { provider: string; merchantAccount?: string | null | undefined },
  providers: Pick<PaymentProviders, 'get' | 'names'>,
): ProviderRejection | undefined {
  const provider = providers.get(name);
  if (!provider) return { code: 'PROVIDER_NOT_CONFIGURED', provider: name, configured: providers.names() };
  const isKnown = merchantAccount === null ? provider.defaultAccount !== null : provider.hasAccount?.(merchantAccount);
  if (isKnown === false) return { code: 'MERCHANT_ACCOUNT_NOT_CONFIGURED', provider: name, merchantAccount };
  return undefined;
}

/**
 * The merchant account that a payment belongs to: the one that it names, otherwise the provider's default. Null: the
 * provider has no merchants, or no default. The account identifies a payment, so always resolve it with this rule.
 */
export function accountOf(
  { provider, merchantAccount }: { readonly provider: string; readonly merchantAccount?: string | undefined },
  providers: Pick<PaymentProviders, 'get'>,
): string | null {
  return merchantAccount ?? providers.get(provider)?.defaultAccount ?? null;
}

/** The attempt with its account, because the default may change. */
export function withAccount(attempt: NewAttempt, providers: Pick<PaymentProviders, 'get'>): NewAttempt {
  const account = accountOf(attempt, providers);
  return account === null ? attempt : { ...attempt, merchantAccount: account };
}
