import { type PaymentProviders } from '../../payments';
import { type NewAttempt } from '../place/new-order';
import { type LockedOrder } from '../order';

type Providers = Pick<PaymentProviders, 'get'>;

/**
 * The merchant account that a payment belongs to: the one that it names, otherwise the provider's default. Null: the
 * provider has no merchants, or no default. The account identifies a payment, so always resolve it with this rule.
 */
export function accountOf(
  { provider, merchantAccount }: { readonly provider: string; readonly merchantAccount?: string | undefined },
  providers: Providers,
): string | null {
  return merchantAccount ?? providers.get(provider)?.defaultAccount ?? null;
}

/**
 * The account that a payment of this order belongs to. An attempt that was registered by a process without the provider
 * has none. A report about it without an account is about that attempt, not about another payment.
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

/** Returns the attempt with its account, because the default may change. */
export function withAccount(attempt: NewAttempt, providers: Providers): NewAttempt {
  const account = accountOf(attempt, providers);
  return account === null ? attempt : { ...attempt, merchantAccount: account };
}
