export {
  type ConformanceCase,
  type ConformanceFault,
  describePaymentProvider,
  type PaymentProviderBench,
} from './payment-provider-conformance';
export {
  type FaultInput,
  type LedgerEntry,
  type PaymentInput,
  PaymentSimulator,
  type PaymentSimulatorOptions,
  type SimulatedStatus,
  SIMULATOR_SECRET,
} from './payment-simulator';
