import { createHash } from 'node:crypto';

interface Surroundings {
  readonly databaseUrl: string;
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
    API_KEYS: apiKeyEntry('harness', around.apiKey, '*'),
    DATABASE_URL: around.databaseUrl,
    RABBITMQ_URLS: around.rabbitUrls,
    RABBITMQ_PREFIX: around.prefix,
    DELAY_TRANSPORT: around.transport,
    LOG_LEVEL: 'warn',
  };
}
