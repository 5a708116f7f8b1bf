export { type DelayTransport, type DelayTransportName } from './delay-transport';
export { DelayedExchange } from './delayed-exchange';
export { Ladder, findHorizonProblem, ladderOptions, type LadderOptions } from './ladder';
export { NoBrokerDelay } from './no-broker-delay';
export {
  isProbeable,
  probeTransport,
  type ProbeResult,
  asksTheBroker,
  selectTransport,
  type DelayTransportSetting,
  type TransportSelection,
} from './select-transport';
