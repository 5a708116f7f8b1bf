import { type Environment, loadConfig, type ServiceConfig } from './config';

/** What a command connects to. */
export type Server = 'DATABASE_URL' | 'RABBITMQ_URLS';

/** Commands serve no HTTP, so they need no key and no operator page, and nobody reaches them. */
const NO_KEY = `command-line:${'0'.repeat(64)}:orders:read`;
/** Of servers that a command does not connect to. */
const NO_SERVER: Readonly<Record<Server, string>> = {
  DATABASE_URL: 'postgresql://unused.invalid/unused',
  RABBITMQ_URLS: 'amqp://unused.invalid',
};

/**
 * Pure: reads the configuration of the service for a command that needs only some of its servers.
 *
 * @throws InvalidOptionsError as `loadConfig` does.
 */
export function loadCommandConfig(environment: Environment, servers: readonly Server[]): ServiceConfig {
  const absent = (Object.keys(NO_SERVER) as Server[]).filter((name) => !servers.includes(name) && !environment[name]);
  const placeholders = Object.fromEntries(absent.map((name) => [name, NO_SERVER[name]]));
  const unserved = { API_KEYS: NO_KEY, OPERATOR_KEYS: '', PUBLISHED_ADDRESS: 'localhost' };
  return loadConfig({ ...environment, ...placeholders, ...unserved });
}
