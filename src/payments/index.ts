export {
  type PaymentAttemptRef,
  type Notification,
  type NotificationReader,
  type NotificationReply,
  type NotificationRequest,
  type NotificationVerdict,
  type CloseOutcome,
  type NotFoundOutcome,
  type PaidOutcome,
  type PaymentEvidence,
  type QueryOutcome,
  type RefundOutcome,
  type UnknownOutcome,
  type PaymentProvider,
  type RefundRequest,
  type ResilienceOptions,
} from './payment-provider';
export { type PaymentObserver, PaymentObservers, type UntrustedSource, PaymentProviders } from './payment-providers';
export {
  CALL_LIMIT,
  type ProviderRestriction,
  ResilientProvider,
  type BreakerState,
} from './resilience/resilient-provider';
export { type HttpPaymentOptions, HttpPaymentProvider } from './http/http-payment-provider';
