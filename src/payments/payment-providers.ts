import { DuplicatePaymentProviderError } from './duplicate-payment-provider-error';
import { type PaymentProvider } from './payment-provider';

/** All providers of this process, by name. Fixed at startup. */
export class PaymentProviders {
  private readonly byName: ReadonlyMap<string, PaymentProvider>;

  /** @throws DuplicatePaymentProviderError with the first name that is used twice. */
  constructor(providers: Iterable<PaymentProvider>) {
    const byName = new Map<string, PaymentProvider>();
    for (const provider of providers) {
      if (byName.has(provider.name)) throw new DuplicatePaymentProviderError(provider.name);
      byName.set(provider.name, provider);
    }
    this.byName = byName;
  }

  /** The provider of that name, or undefined: an attempt at an unconfigured provider is UNKNOWN and is never closed. */
  get(name: string): PaymentProvider | undefined {
    return this.byName.get(name);
  }

  /** Names in the order of configuration. */
  names(): string[] {
    return [...this.byName.keys()];
  }
}
