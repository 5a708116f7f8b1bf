/** Of every process of the service, beside its surroundings. */
export const SCENARIO_ENVIRONMENT: Readonly<Record<string, string>> = {
  DATABASE_POOL_SIZE: '10',
  RABBITMQ_QUEUE_TYPE: 'classic',
  // Few queues, so that they are declared quickly.
  LADDER_BASE: '8',
  HORIZON_MS: '60000',
  SWEEP_INTERVAL_MS: '5000',
  REMINDER_OFFSETS_MS: '',
  // The real ones end after 25 hours.
  LATE_WATCH_OFFSETS_MS: '1000,4000,10000',
  MERCHANT_POLICIES: JSON.stringify({
    'shop-refund': { latePayment: 'refund', overpayment: 'refund-excess' },
    'shop-patient': { maxAttempts: 200 },
  }),
  SHUTDOWN_TIMEOUT_MS: '3000',
};
