export { type PaymentAttemptRef } from './payment-attempt-ref';
export {
  type Notification,
  type NotificationReader,
  type NotificationReply,
  type NotificationRequest,
  type NotificationVerdict,
} from './payment-notification';
export {
  type CloseOutcome,
  type NotFoundOutcome,
  type PaidOutcome,
  type PaymentEvidence,
  type QueryOutcome,
  type RefundOutcome,
  type UnknownOutcome,
} from './payment-outcome';
export { type PaymentObserver, PaymentObservers, type UntrustedSource } from './payment-observer';
export { type PaymentProvider } from './payment-provider';
export { PaymentProviders } from './payment-providers';
export { type RefundRequest } from './refund-request';
export { type ResilienceOptions } from './resilience/resilience-options';
export { type ProviderRestriction, ResilientProvider } from './resilience/resilient-provider';
export { type BreakerState } from './resilience/provider-breaker';
export { type HttpPaymentOptions } from './http/http-payment-options';
export { HttpPaymentProvider } from './http/http-payment-provider';
