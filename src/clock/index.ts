export { CLOCK, type Clock, type Timer, Deadline, inTime, SystemClock, withTimeout } from './clock';
export { PollingLoop } from './polling-loop';
