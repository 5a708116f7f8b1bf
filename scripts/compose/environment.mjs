// What docker compose and the specs are told.
import { join } from 'node:path';
import { writeJson } from '../setup/files.mjs';

const builders = ['service', 'service-plain', 'service-cluster', 'rabbitmq', 'rabbitmq-plain'];
const nodes = ['rabbitmq-1', 'rabbitmq-2', 'rabbitmq-3'];
const published = ['SERVICE', 'POSTGRES', 'PROMETHEUS', 'GRAFANA', 'JAEGER', 'OTLP'];
const brokers = ['RABBITMQ', 'RABBITMQ_PLAIN', 'RABBITMQ_CLUSTER'];

/** The name of everything that the specs make. */
export const project = 'order-timeout-test';

/**
 * For builds on an engine of our own: they use the network of this machine, as its bridges lead nowhere.
 *
 * @param {import('./engine.mjs').Engine} engine
 * @param {{ url: string, sha256: string } | undefined} plugin  undefined: the genuine one
 * @returns {string} path of a Compose file to put on top of docker-compose.yml
 */
export function writeOverride({ folder }, plugin) {
  const path = join(folder, 'override.json');
  const args = plugin && { PLUGIN_URL: plugin.url, PLUGIN_SHA256: plugin.sha256 };
  const build = (/** @type {string} */ name) => ({ network: 'host', ...(name === 'rabbitmq' && args && { args }) });
  const services = [...builders, ...nodes].map((name) => /** @type {const} */ ([name, { build: build(name) }]));
  writeJson(path, { services: Object.fromEntries(services) });
  return path;
}

/**
 * Ports that the engine chooses, and nothing from the .env of this clone.
 *
 * @param {import('./engine.mjs').Engine} engine
 * @param {import('./base-images.mjs').ImageSources} images
 * @param {string[]} files  Compose files
 * @returns {NodeJS.ProcessEnv}
 */
export function environmentFor({ env }, { missing }, files) {
  const names = [...published, ...brokers.flatMap((name) => [name, `${name}_MANAGEMENT`])];
  return {
    ...env,
    ...Object.fromEntries(names.map((name) => [`OT_${name}_PORT`, '0'])),
    COMPOSE_PROJECT_NAME: project,
    COMPOSE_FILE: files.join(':'),
    COMPOSE_DISABLE_ENV_FILE: '1',
    OT_MISSING_IMAGES: missing.join(','),
  };
}
