import { createHash } from 'node:crypto';

/** Value of RABBITMQ_URLS: there is no broker. */
export const NO_BROKER = 'none';

interface Surroundings {
  readonly databaseUrl: string;
  /** Empty: there is no broker. */
  readonly rabbitUrls: string;
  readonly prefix: string;
  readonly apiKey: string;
  readonly transport: string;
}

/** One entry of API_KEYS. @param scopes `*` for all */
export function apiKeyEntry(name: string, key: string, scopes: string): string {
  return `${name}:${createHash('sha256').update(key).digest('hex')}:${scopes}`;
}

/** What the service has to be told of its surroundings: the product's defaults for all else. */
export function serviceEnvironment(around: Surroundings): Record<string, string> {
  return {
    API_KEYS: apiKeyEntry('shop', around.apiKey, '*'),
    DATABASE_URL: around.databaseUrl,
    RABBITMQ_URLS: around.rabbitUrls || NO_BROKER,
    RABBITMQ_PREFIX: around.prefix,
    DELAY_TRANSPORT: around.transport,
    LOG_LEVEL: 'warn',
  };
}
