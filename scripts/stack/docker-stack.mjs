// Broker and database out of docker-compose.yml. What runs already is used as it is.
import { parseJson } from '../setup/files.mjs';
import { repository } from '../setup/paths.mjs';
import { showProgress } from '../setup/progress.mjs';
import { run } from '../setup/processes.mjs';
import { SetupError } from '../setup/errors.mjs';
import { findFreeBlock, isFree } from './place.mjs';

const limitMs = 10 * 60_000;
const remedy =
  'run the same command manually to see more; or set OT_STACK=private (Linux), or RABBITMQ_URLS and DATABASE_URL to running servers';

/** @typedef {{ inside: number, variable: string, usual: number }} Published  a port, and what docker-compose.yml calls it */
/** @typedef {import('./private-stack.mjs').ServerName} ServerName */
/** @type {Record<ServerName, { service: string, main: Published, management?: Published }>} by the name a server has here */
const services = {
  postgres: { service: 'postgres', main: { inside: 5432, variable: 'OT_POSTGRES_PORT', usual: 5432 } },
  'rabbitmq-plain': {
    service: 'rabbitmq-plain',
    main: { inside: 5672, variable: 'OT_RABBITMQ_PLAIN_PORT', usual: 5673 },
    management: { inside: 15_672, variable: 'OT_RABBITMQ_PLAIN_MANAGEMENT_PORT', usual: 15_673 },
  },
  'rabbitmq-plugin': {
    service: 'rabbitmq',
    main: { inside: 5672, variable: 'OT_RABBITMQ_PORT', usual: 5672 },
    management: { inside: 15_672, variable: 'OT_RABBITMQ_MANAGEMENT_PORT', usual: 15_672 },
  },
};

const compose = (/** @type {string[]} */ args, /** @type {AbortSignal | undefined} */ signal, env = {}) =>
  run('docker', ['compose', '--profile', 'plain', ...args], {
    cwd: repository,
    env: { ...process.env, ...env },
    limitMs,
    signal,
    remedy,
  });

/**
 * @param {string} service
 * @param {Published} port
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<string | undefined>} where a running container's port is published, as host:port
 */
async function publishedAt(service, { inside }, signal) {
  const answer = await compose(['port', service, String(inside)], signal).catch(() => '');
  const port = /:(\d+)\s*$/.exec(answer)?.[1];
  signal?.throwIfAborted();
  return port && Number(port) > 0 ? `127.0.0.1:${port}` : undefined;
}

/**
 * A container that runs keeps its ports; one that is started gets others where somebody has the usual ones.
 *
 * @param {ServerName[]} names
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<Record<string, string>>}
 */
async function choosePorts(names, signal) {
  /** @type {Record<string, string>} */
  const env = {};
  for (const { service, main, management } of names.map((name) => services[name])) {
    for (const [index, port] of [main, ...(management ? [management] : [])].entries()) {
      const present = (await publishedAt(service, port, signal))?.split(':')[1];
      if (present) env[port.variable] = present;
      else if (!process.env[port.variable] && !(await isFree(port.usual))) {
        env[port.variable] = String((await findFreeBlock(`${repository}\ndocker ${service}`)) + index);
      }
    }
  }
  return env;
}

/** @typedef {{ services?: Record<string, { environment?: Record<string, string> }> }} ComposeConfiguration */

/**
 * @param {ComposeConfiguration} configuration  of `docker compose config --format json`
 * @param {string} service
 * @returns {Record<string, string>}
 */
export const environmentOf = (configuration, service) => configuration.services?.[service]?.environment ?? {};

/** @param {string} service @param {Published} port @param {AbortSignal | undefined} signal */
async function addressOf(service, port, signal) {
  const address = await publishedAt(service, port, signal);
  if (address) return address;
  throw new SetupError('NOT_PUBLISHED', `docker compose publishes no port ${port.inside} of ${service}`, { remedy });
}

/**
 * @param {ServerName} name
 * @param {ComposeConfiguration} configuration
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<Record<string, string>>}
 */
async function accessTo(name, configuration, signal) {
  const { service, main, management } = services[name];
  const env = environmentOf(configuration, service);
  const at = await addressOf(service, main, signal);
  if (!management) {
    const login = loginOf(env.POSTGRES_USER ?? 'postgres', env.POSTGRES_PASSWORD ?? '');
    return { url: `postgresql://${login}@${at}/${env.POSTGRES_DB ?? env.POSTGRES_USER ?? 'postgres'}` };
  }
  const login = loginOf(env.RABBITMQ_DEFAULT_USER ?? 'guest', env.RABBITMQ_DEFAULT_PASS ?? 'guest');
  const managementUrl = `http://${login}@${await addressOf(service, management, signal)}`;
  return {
    url: `amqp://${login}@${at}`,
    managementUrl,
    ...(name === 'rabbitmq-plugin' && { delayedExchange: 'genuine' }),
  };
}

const loginOf = (/** @type {string[]} */ ...parts) => parts.map(encodeURIComponent).join(':');

/**
 * @param {ServerName[]} names
 * @param {{ signal?: AbortSignal | undefined }} [options]
 * @returns {Promise<Record<string, Record<string, string>>>} how to reach them, by name
 */
export function ensureDockerServers(names, { signal } = {}) {
  const wanted = names.map((name) => services[name].service);
  return showProgress(`docker compose up ${wanted.join(' ')}`, async () => {
    await compose(['up', '--detach', '--wait', ...wanted], signal, await choosePorts(names, signal));
    const json = await compose(['config', '--format', 'json'], signal);
    const configuration = /** @type {ComposeConfiguration} */ (parseJson(json));
    const entries = names.map(
      async (name) => /** @type {const} */ ([name, await accessTo(name, configuration, signal)]),
    );
    return Object.fromEntries(await Promise.all(entries));
  });
}

/** @param {{ withData?: boolean, signal?: AbortSignal | undefined }} options */
export const stopDockerServers = ({ withData = false, signal }) =>
  compose(['down', ...(withData ? ['--volumes'] : [])], signal);
