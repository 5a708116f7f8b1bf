import { type PaymentProviders } from '../../payments';

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
