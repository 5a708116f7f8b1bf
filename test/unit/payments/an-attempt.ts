import { type PaymentAttemptRef } from '../../../src/payments';

/** An attempt with the fields that a test does not care about. */
export function anAttempt(fields: Partial<PaymentAttemptRef> = {}): PaymentAttemptRef {
  return {
    provider: 'pay',
    reference: 'ord-1',
    amount: 1_999n,
    currency: 'EUR',
    createdAt: new Date(0),
    ...fields,
  };
}
