import { type PaymentProviders } from '../payments';
import { type NewAttempt } from './new-order';

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

/** The attempt with its account written down: the default may be another one tomorrow. */
export function withAccount(attempt: NewAttempt, providers: Providers): NewAttempt {
  const account = accountOf(attempt, providers);
  return account === null ? attempt : { ...attempt, merchantAccount: account };
}
