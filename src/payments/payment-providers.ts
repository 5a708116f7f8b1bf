import { DuplicatePaymentProviderError } from './duplicate-payment-provider-error';
import { type PaymentProvider } from './payment-provider';

/** All providers of this process, by name. Fixed at boot. */
export class PaymentProviders {
  private readonly byName: ReadonlyMap<string, PaymentProvider>;

  /** @throws DuplicatePaymentProviderError naming the first name that is used twice. */
  constructor(providers: Iterable<PaymentProvider>) {
    const byName = new Map<string, PaymentProvider>();
    for (const provider of providers) {
      if (byName.has(provider.name)) throw new DuplicatePaymentProviderError(provider.name);
      byName.set(provider.name, provider);
    }
    this.byName = byName;
  }

  /** The provider of that name, or undefined: an attempt of an unconfigured provider is UNKNOWN, never closed. */
  get(name: string): PaymentProvider | undefined {
    return this.byName.get(name);
  }

  /** Names in the order of registration, for health and logs. */
  names(): string[] {
    return [...this.byName.keys()];
  }
}
