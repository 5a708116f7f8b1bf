// Broker and database out of docker-compose.yml. What runs already is used as it is.
import { repository } from '../setup/paths.mjs';
import { showProgress } from '../setup/progress.mjs';
import { run } from '../setup/run.mjs';
import { findFreeBlock, isFree } from './ports.mjs';

const limitMs = 10 * 60_000;
const remedy =
  'run the same command by hand to see more; or set OT_STACK=private (Linux), or RABBITMQ_URLS and DATABASE_URL to running servers';

/** @typedef {{ inside: number, variable: string, usual: number }} Published  a port, and what docker-compose.yml calls it */
/** @type {Record<string, { service: string, main: Published, management?: Published }>} by the name a server has here */
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

const compose = (/** @type {string[]} */ args, signal, env = {}) =>
  run('docker', ['compose', '--profile', 'plain', ...args], {
    cwd: repository,
    env: { ...process.env, ...env },
    limitMs,
    signal,
    remedy,
  });

/** @returns {Promise<string | undefined>} where a running container's port is published, as host:port */
async function publishedAt(service, { inside }, signal) {
  const answer = await compose(['port', service, String(inside)], signal).catch(() => '');
  const port = /:(\d+)\s*$/.exec(answer)?.[1];
  signal?.throwIfAborted();
  return port && Number(port) > 0 ? `127.0.0.1:${port}` : undefined;
}

/**
 * A container that runs keeps its ports; one that is started gets others where somebody has the usual ones.
 *
 * @param {string[]} names
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

/**
 * @param {any} configuration  of `docker compose config --format json`
 * @param {string} service
 * @returns {Record<string, string>}
 */
export const environmentOf = (configuration, service) => configuration.services?.[service]?.environment ?? {};

async function accessTo(name, configuration, signal) {
  const { service, main, management } = services[name];
  const env = environmentOf(configuration, service);
  const at = await publishedAt(service, main, signal);
  if (!management) {
    const login = loginOf(env.POSTGRES_USER ?? 'postgres', env.POSTGRES_PASSWORD ?? '');
    return { url: `postgresql://${login}@${at}/${env.POSTGRES_DB ?? env.POSTGRES_USER ?? 'postgres'}` };
  }
  const login = loginOf(env.RABBITMQ_DEFAULT_USER ?? 'guest', env.RABBITMQ_DEFAULT_PASS ?? 'guest');
  const managementUrl = `http://${login}@${await publishedAt(service, management, signal)}`;
  return {
    url: `amqp://${login}@${at}`,
    managementUrl,
    ...(name === 'rabbitmq-plugin' && { delayedExchange: 'genuine' }),
  };
}

const loginOf = (/** @type {string[]} */ ...parts) => parts.map(encodeURIComponent).join(':');

/**
 * @param {string[]} names  as in private-stack.mjs
 * @param {{ signal?: AbortSignal }} [options]
 * @returns {Promise<Record<string, Record<string, string>>>} how to reach them, by name
 */
export function ensureDockerServers(names, { signal } = {}) {
  const wanted = names.map((name) => services[name].service);
  return showProgress(`docker compose up ${wanted.join(' ')}`, async () => {
    await compose(['up', '--detach', '--wait', ...wanted], signal, await choosePorts(names, signal));
    const configuration = JSON.parse(await compose(['config', '--format', 'json'], signal));
    const entries = names.map(async (name) => [name, await accessTo(name, configuration, signal)]);
    return Object.fromEntries(await Promise.all(entries));
  });
}

/** @param {{ withData?: boolean, signal?: AbortSignal }} options */
export const stopDockerServers = ({ withData = false, signal }) =>
  compose(['down', ...(withData ? ['--volumes'] : [])], signal);
