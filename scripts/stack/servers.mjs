import { codeOf } from '../setup/error-code.mjs';
import { say } from '../setup/progress.mjs';
import { messageOf } from '../setup/setup-error.mjs';
import {
  assertReachable,
  chooseSource,
  explainChoice,
  hasDockerEngine,
  noBroker,
  withoutBroker,
} from './choose-source.mjs';
import { ensureDockerServers } from './docker-stack.mjs';
import { ensurePrivateServers } from './private-stack.mjs';

/** @typedef {import('./private-stack.mjs').ServerName} ServerName */
/** @typedef {Record<string, string>} Access  url, and for a broker managementUrl and delayedExchange */

const what = {
  postgres: 'PostgreSQL',
  'rabbitmq-plain': 'RabbitMQ',
  'rabbitmq-plugin': 'RabbitMQ with delayed exchange',
};

/** What names a server that runs already, and its management API. @type {Record<ServerName, [string, string?]>} */
const variables = {
  postgres: ['DATABASE_URL'],
  'rabbitmq-plain': ['RABBITMQ_URLS', 'RABBITMQ_MANAGEMENT_URL'],
  'rabbitmq-plugin': ['RABBITMQ_PLUGIN_URLS', 'RABBITMQ_PLUGIN_MANAGEMENT_URL'],
};
const valueOf = (/** @type {ServerName} */ name) => process.env[variables[name][0]] ?? '';
const isBroker = (/** @type {ServerName} */ name) => name !== 'postgres';

/**
 * The management API of a broker that came without one is where RabbitMQ puts it.
 *
 * @param {string} urls
 * @returns {string}
 */
export function managementUrlOf(urls) {
  const [first = ''] = urls.split(',');
  const { protocol, username, password, hostname } = new URL(first);
  const [scheme, port] = protocol === 'amqps:' ? ['https', 15_671] : ['http', 15_672];
  return `${scheme}://${username || 'guest'}:${password || 'guest'}@${hostname}:${port}`;
}

/** @param {ServerName} name @param {{ mayBeDown: boolean }} options @returns {Promise<Access>} */
async function accessGiven(name, { mayBeDown }) {
  const [variable, managementVariable] = variables[name];
  const url = process.env[variable] ?? '';
  await assertReachable(variable, url).catch((/** @type {unknown} */ error) => {
    if (!mayBeDown || codeOf(error) !== 'SETUP/NOT_REACHABLE') throw error;
    say(`Warning: ${messageOf(error)}. The service starts and waits for it.`);
  });
  if (!managementVariable) return { url };
  const managementUrl = process.env[managementVariable] ?? managementUrlOf(url);
  if (name === 'rabbitmq-plain') return { url, managementUrl };
  return { url, managementUrl, delayedExchange: process.env.DELAYED_EXCHANGE ?? 'genuine' };
}

/** @typedef {import('./choose-source.mjs').SourceKind} SourceKind */

/** @param {ServerName[]} names @param {{ mayBeAbsent: boolean }} options @returns {Record<SourceKind, ServerName[]>} */
function sortBySource(names, { mayBeAbsent }) {
  const hasDocker = !names.every(valueOf) && hasDockerEngine();
  /** @type {Record<SourceKind, ServerName[]>} */
  const sorted = { given: [], docker: [], private: [], none: [] };
  for (const name of names) {
    const facts = { hasDocker, platform: process.platform, isBroker: isBroker(name), mayBeAbsent };
    sorted[chooseSource({ ...facts, variable: variables[name][0], value: valueOf(name) })].push(name);
  }
  const [absent] = sorted.none;
  if (absent) say(withoutBroker(valueOf(absent) ? `RABBITMQ_URLS is "${noBroker}"` : 'no Docker engine answers'));
  for (const kind of /** @type {const} */ (['given', 'docker', 'private'])) {
    const members = sorted[kind];
    if (members.length === 0) continue;
    const titles = members.map((name) => what[name]);
    const named = members.map((name) => variables[name][0]);
    say(explainChoice(kind, titles, named));
  }
  return sorted;
}

/**
 * Private servers. If RabbitMQ is neither installed nor to be had from apt, PostgreSQL alone may have to do.
 *
 * @param {ServerName[]} names
 * @param {{ signal: AbortSignal | undefined, mayBeAbsent: boolean }} options
 * @returns {Promise<Partial<Record<ServerName, Access>>>}
 */
async function privateServers(names, { signal, mayBeAbsent }) {
  try {
    return await ensurePrivateServers(names, { signal });
  } catch (error) {
    if (!mayBeAbsent || codeOf(error) !== 'SETUP/NO_RABBITMQ') throw error;
    say(withoutBroker(messageOf(error)));
    const others = names.filter((name) => !isBroker(name));
    return { ...(await ensurePrivateServers(others, { signal })), ...absent(names.filter(isBroker)) };
  }
}

/** @param {ServerName[]} names @returns {Partial<Record<ServerName, Access>>} */
const absent = (names) => Object.fromEntries(names.map((name) => [name, { url: noBroker }]));

/**
 * Each server from the best place there is: named by the environment, Docker, or a private one.
 *
 * @param {ServerName[]} names
 * @param {{ signal?: AbortSignal | undefined, brokerMayBeDown?: boolean, brokerMayBeAbsent?: boolean }} [options]
 *   `brokerMayBeAbsent`: where none can be had, its URL is "none"
 * @returns {Promise<Partial<Record<ServerName, Access>>>} those that were named
 */
export async function ensureServers(names, { signal, brokerMayBeDown = false, brokerMayBeAbsent = false } = {}) {
  const sorted = sortBySource(names, { mayBeAbsent: brokerMayBeAbsent });
  // First, because a wrong variable is told at once, and not after a download.
  const given = sorted.given.map(async (name) => {
    const mayBeDown = brokerMayBeDown && isBroker(name);
    return /** @type {const} */ ([name, await accessGiven(name, { mayBeDown })]);
  });
  const ofGiven = Object.fromEntries(await Promise.all(given));
  const ofDocker = sorted.docker.length > 0 ? await ensureDockerServers(sorted.docker, { signal }) : {};
  const mayBeAbsent = brokerMayBeAbsent;
  const ofPrivate = sorted.private.length > 0 ? await privateServers(sorted.private, { signal, mayBeAbsent }) : {};
  return { ...ofGiven, ...ofDocker, ...ofPrivate, ...absent(sorted.none) };
}

/**
 * What the service and the tests read from their environment.
 *
 * @param {Partial<Record<ServerName, Access>>} servers
 * @returns {Record<string, string>} broker of the profile "plain" first, else the one with the plugin
 */
export function environmentFor(servers) {
  const { postgres, 'rabbitmq-plain': plain, 'rabbitmq-plugin': plugin } = servers;
  const main = plain ?? plugin;
  const all = {
    DATABASE_URL: postgres?.url,
    RABBITMQ_URLS: main?.url,
    RABBITMQ_MANAGEMENT_URL: main?.managementUrl,
    RABBITMQ_PLUGIN_URLS: plugin?.url,
    RABBITMQ_PLUGIN_MANAGEMENT_URL: plugin?.managementUrl,
    DELAYED_EXCHANGE: plugin?.delayedExchange,
  };
  /** @type {Record<string, string>} */
  const env = {};
  for (const [name, value] of Object.entries(all)) if (value !== undefined) env[name] = value;
  return env;
}
