import { type PaymentProviders } from '../../payments';
import { type NewAttempt } from '../place/new-order';
import { type LockedOrder } from '../order';

type Providers = Pick<PaymentProviders, 'get'>;

/**
 * The merchant account that a payment belongs to: the one it names, else the provider's default. Null: the provider knows
 * no merchants, or none that is meant where nothing is said. Part of what identifies a payment, so resolved by this rule
 * alone.
 */
export function accountOf(
  { provider, merchantAccount }: { readonly provider: string; readonly merchantAccount?: string | undefined },
  providers: Providers,
): string | null {
  return merchantAccount ?? providers.get(provider)?.defaultAccount ?? null;
}

/**
 * The account that a payment of this order belongs to. An attempt that was registered by a process without the provider has
 * none: what is told of it without an account is about that attempt, and no other payment.
 */
export function accountIn(
  { attempts }: Pick<LockedOrder, 'attempts'>,
  payment: { readonly provider: string; readonly reference: string; readonly merchantAccount?: string | undefined },
  resolved: string | null,
): string | null {
  if (payment.merchantAccount !== undefined) return resolved;
  const named = attempts.filter((one) => one.provider === payment.provider && one.reference === payment.reference);
  return named.length > 0 && named.every((one) => one.merchantAccount === null) ? null : resolved;
}

/** The attempt with its account written down: the default may be another one tomorrow. */
export function withAccount(attempt: NewAttempt, providers: Providers): NewAttempt {
  const account = accountOf(attempt, providers);
  return account === null ? attempt : { ...attempt, merchantAccount: account };
}
