export { type LedgerEntry, type SimulatedStatus } from './ledger-entry';
export { SIMULATOR_SECRET } from './merchant-secrets';
export { PaymentSimulator, type PaymentSimulatorOptions } from './payment-simulator';
export { type FaultInput, type PaymentInput } from './simulator-input';
