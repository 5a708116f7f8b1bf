import { type PaymentProviders } from '../payments';
import { type NewAttempt } from './new-order';

/**
 * The attempt with the merchant account that it belongs to. Written down when it is registered: another merchant's
 * payment with the same reference must not count for it, and the default may be another one tomorrow.
 */
export function withAccount(attempt: NewAttempt, providers: Pick<PaymentProviders, 'get'>): NewAttempt {
  const account = attempt.merchantAccount ?? providers.get(attempt.provider)?.defaultAccount ?? undefined;
  return account === undefined ? attempt : { ...attempt, merchantAccount: account };
}
