export { type DelayRoute, type DelayTransport, type DelayTransportName } from './delay-transport';
export { DelayedExchange } from './delayed-exchange';
export { DelayedExchangeMissingError } from './delayed-exchange-missing-error';
export { DelayedExchangeUnusableError } from './delayed-exchange-unusable-error';
export { DueBuffer } from './due-buffer';
export { InvalidDelayError } from './invalid-delay-error';
export { Ladder } from './ladder';
export { findLadderProblems, type LadderOptions } from './ladder-shape';
export { NoBrokerWaitError } from './no-broker-wait-error';
export { NoBrokerDelay } from './no-broker-delay';
export { isProbeable, probeTransport, type ProbeOptions, type ProbeResult } from './probe-transport';
export {
  asksTheBroker,
  selectTransport,
  type DelayTransportSetting,
  type TransportSelection,
} from './select-transport';
