export {
  CLOCK,
  type Clock,
  type Timer,
  Deadline,
  inTime,
  SystemClock,
  withTimeout,
  PollingLoop,
  ToldFailures,
} from './clock';
