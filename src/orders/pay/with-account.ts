import { type PaymentProviders } from '../../payments';
import { type NewAttempt } from '../place/new-order';
import { type LockedOrder } from '../order';
import { accountOfAttempt } from '../payment-attempt';

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
 * The account that a payment of this order belongs to. A report without an account about an attempt of the order is about
 * that attempt, whatever account this process takes for the default one. Null: the attempt has no account yet.
 */
export function accountIn(
  { attempts }: Pick<LockedOrder, 'attempts'>,
  payment: { readonly provider: string; readonly reference: string; readonly merchantAccount?: string | undefined },
  resolved: string | null,
): string | null {
  if (payment.merchantAccount !== undefined) return resolved;
  const named = attempts.filter((one) => one.provider === payment.provider && one.reference === payment.reference);
  const [account, ...others] = new Set(named.map(accountOfAttempt));
  return account === undefined || others.length > 0 ? resolved : account;
}

/** Returns the attempt with its account, because the default may change. */
export function withAccount(attempt: NewAttempt, providers: Providers): NewAttempt {
  const account = accountOf(attempt, providers);
  return account === null ? attempt : { ...attempt, merchantAccount: account };
}
