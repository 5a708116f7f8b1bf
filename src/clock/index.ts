export { CLOCK, type Clock, type Timer } from './clock';
export { Deadline } from './deadline';
export { inTime } from './in-time';
export { PollingLoop } from './polling-loop';
export { SystemClock } from './system-clock';
export { withTimeout } from './with-timeout';
