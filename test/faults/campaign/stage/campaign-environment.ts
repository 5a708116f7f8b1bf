/** Of every instance, beside its surroundings: the product's defaults wherever the campaign measures. */
export const CAMPAIGN_ENVIRONMENT: Readonly<Record<string, string>> = {
  DATABASE_POOL_SIZE: '10',
  // Fewer queues, so that they are declared quickly; deadlines are 1 to 20 s.
  LADDER_BASE: '16',
  HORIZON_MS: '60000',
  REMINDER_OFFSETS_MS: '',
  // The real ones end after 25 hours. Buyers who pay after a close that lied do so within a second of it.
  LATE_WATCH_OFFSETS_MS: '5000',
  SHUTDOWN_TIMEOUT_MS: '3000',
};
