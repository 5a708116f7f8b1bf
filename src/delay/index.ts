export { type DelayTransport, type DelayTransportName } from './delay-transport';
export { DelayedExchange } from './delayed-exchange';
export { DueBuffer } from './due-buffer';
export { Ladder } from './ladder';
export { findLadderProblems, type LadderOptions } from './ladder-shape';
export { NoBrokerDelay } from './no-broker-delay';
export { isProbeable, probeTransport, type ProbeResult } from './probe-transport';
export {
  asksTheBroker,
  selectTransport,
  type DelayTransportSetting,
  type TransportSelection,
} from './select-transport';
