export { type ConformanceFault, type PaymentProviderBench } from './conformance/checked-bench';
export { type ConformanceCase, describePaymentProvider } from './payment-provider-conformance';
export {
  type ModuleBuilder,
  type TestKitOptions,
  type RecordedEvent,
  type RecordedEvents,
  TestKitUsageError,
  OrderTimeoutTestKit,
  type RunCounts,
} from './order-timeout-test-kit';
export {
  type PaymentScript,
  type ScriptedAnswer,
  type ScriptedCall,
  type ScriptedMoney,
  ScriptedPaymentProvider,
} from './payments/scripted-payment-provider';
