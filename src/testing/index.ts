export { type ConformanceFault, type PaymentProviderBench } from './conformance/payment-provider-bench';
export { type ConformanceCase, describePaymentProvider } from './payment-provider-conformance';
export { type ModuleBuilder, type TestKitOptions } from './kit/override-module';
export { type RecordedEvent, type RecordedEvents } from './kit/recorded-events';
export { TestKitUsageError } from './kit/test-kit-usage-error';
export { OrderTimeoutTestKit, type RunCounts } from './order-timeout-test-kit';
export { type PaymentScript, type ScriptedAnswer } from './payments/scripted-answers';
export { type ScriptedCall, type ScriptedMoney, ScriptedPaymentProvider } from './payments/scripted-payment-provider';
