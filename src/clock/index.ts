export {
  CLOCK,
  type Clock,
  type Timer,
  Deadline,
  inTime,
  SystemClock,
  withTimeout,
  PollingLoop,
  retryAfterMs,
  ToldFailures,
} from './clock';
