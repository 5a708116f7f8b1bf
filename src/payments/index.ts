export { DuplicatePaymentProviderError } from './duplicate-payment-provider-error';
export { type PaymentAttemptRef } from './payment-attempt-ref';
export {
  type CloseOutcome,
  type NotFoundOutcome,
  type PaidOutcome,
  type PaymentEvidence,
  type QueryOutcome,
  type UnknownOutcome,
} from './payment-outcome';
export { type PaymentProvider } from './payment-provider';
export { PaymentProviders } from './payment-providers';
export { type GuardOptions } from './guard/guard-options';
export { GuardedProvider } from './guard/guarded-provider';
export { type BreakerState } from './guard/provider-breaker';
export {
  isFreshTimestamp,
  isSameSignature,
  SIGNATURE_HEADERS,
  signHttpRequest,
  signHttpResponse,
} from './http/http-message-signature';
export { type HttpPaymentOptions } from './http/http-payment-options';
export { HttpPaymentProvider } from './http/http-payment-provider';
