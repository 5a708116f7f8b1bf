import { type PaymentProvider, PaymentProviders } from '../../../src/payments';
import { DuplicatePaymentProviderError } from '../../../src/payments/payment-providers';

function named(name: string): PaymentProvider {
  return {
    name,
    query: () => Promise.resolve({ type: 'OPEN' }),
    close: () => Promise.resolve({ type: 'CLOSED' }),
    refund: () => Promise.resolve({ type: 'PENDING' }),
  };
}

describe('PaymentProviders', () => {
  it('finds a provider by its name only', () => {
    const alipay = named('alipay');
    const providers = new PaymentProviders([alipay, named('stripe')]);
    expect(providers.get('alipay')).toBe(alipay);
    expect(providers.get('paypal')).toBeUndefined();
    expect(providers.names()).toEqual(['alipay', 'stripe']);
  });

  it('rejects two providers with the same name and says which', () => {
    const build = (): unknown => new PaymentProviders([named('alipay'), named('alipay')]);
    expect(build).toThrow(DuplicatePaymentProviderError);
    expect(build).toThrow(/"alipay"/);
  });
});
