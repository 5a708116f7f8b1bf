import { createHash } from 'node:crypto';

interface Surroundings {
  readonly port: number;
  readonly databaseUrl: string;
  readonly rabbitUrl: string;
  readonly prefix: string;
  readonly apiKey: string;
  readonly providersFile: string;
}

/** The environment of one process of the service. */
export function serviceEnvironment(around: Surroundings): Record<string, string> {
  const { port, databaseUrl, rabbitUrl, prefix, apiKey, providersFile } = around;
  return {
    PORT: String(port),
    HOST: '127.0.0.1',
    API_KEYS: `scenarios:${createHash('sha256').update(apiKey).digest('hex')}:*`,
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: '10',
    RABBITMQ_URLS: rabbitUrl,
    RABBITMQ_PREFIX: prefix,
    RABBITMQ_QUEUE_TYPE: 'classic',
    DELAY_TRANSPORT: 'ladder',
    // Few queues, so that they are declared quickly.
    LADDER_BASE: '8',
    HORIZON_MS: '60000',
    SWEEP_INTERVAL_MS: '5000',
    PAYMENT_PROVIDERS_FILE: providersFile,
    REMINDER_OFFSETS_MS: '',
    // The real ones end after 25 hours.
    LATE_WATCH_OFFSETS_MS: '1000,4000,10000',
    MERCHANT_POLICIES: JSON.stringify({
      'shop-refund': { latePayment: 'refund' },
      'shop-patient': { maxAttempts: 200 },
    }),
    LOG_LEVEL: 'warn',
    SHUTDOWN_TIMEOUT_MS: '3000',
  };
}
