import { createHash } from 'node:crypto';
import { type CampaignTransport } from '../campaign-options';

interface Surroundings {
  readonly databaseUrl: string;
  readonly rabbitUrl: string;
  readonly prefix: string;
  readonly apiKey: string;
  readonly transport: CampaignTransport;
  readonly simulatorUrl: string;
  readonly simulatorSecret: string;
}

/** The provider's name in attempts. */
export const PROVIDER = 'simulator';

/** The environment of every instance: the product's defaults wherever the campaign measures. */
export function serviceEnvironment(around: Surroundings): Record<string, string> {
  return {
    HOST: '127.0.0.1',
    API_KEYS: `campaign:${createHash('sha256').update(around.apiKey).digest('hex')}:*`,
    DATABASE_URL: around.databaseUrl,
    DATABASE_POOL_SIZE: '10',
    RABBITMQ_URLS: around.rabbitUrl,
    RABBITMQ_PREFIX: around.prefix,
    RABBITMQ_QUEUE_TYPE: 'quorum',
    DELAY_TRANSPORT: around.transport,
    // Fewer queues, so that they are declared quickly; deadlines are 1 to 20 s.
    LADDER_BASE: '16',
    HORIZON_MS: '60000',
    HTTP_PAYMENT_PROVIDER_NAME: PROVIDER,
    HTTP_PAYMENT_PROVIDER_URL: around.simulatorUrl,
    HTTP_PAYMENT_PROVIDER_SECRET: around.simulatorSecret,
    REMINDER_OFFSETS_MS: '',
    // The real ones end after 25 hours. Buyers who pay after a close that lied do so within a second of it.
    LATE_WATCH_OFFSETS_MS: '5000',
    LOG_LEVEL: 'warn',
    SHUTDOWN_TIMEOUT_MS: '3000',
  };
}
