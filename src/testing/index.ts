export { type ConformanceFault, type PaymentProviderBench } from './conformance/payment-provider-bench';
export { type ConformanceCase, describePaymentProvider } from './payment-provider-conformance';
