import { intentIdOf } from '../../../packages/payment-simulator/src/stripe/stripe-objects';
import { type PlacedPayment } from './placed-order';

/** What the provider itself calls the payment: the intent behind a Checkout Session, Alipay's trade_no, WeChat Pay's transaction_id. */
export function providersNameOf({ provider, reference }: PlacedPayment): string {
  return provider === 'stripe' ? intentIdOf(reference) : `sim-${reference}`;
}
