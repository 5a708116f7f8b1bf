import { spawnSync } from 'node:child_process';
import { ensureBuilds, ensureDependencies } from '../setup/build.mjs';
import { codeOf, messageOf, SetupError } from '../setup/errors.mjs';
import { canConnect, together } from '../setup/processes.mjs';
import { say } from '../setup/progress.mjs';
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

/** Value of RABBITMQ_URLS: there is no broker. */
export const noBroker = 'none';

/** @typedef {'given' | 'docker' | 'private' | 'none'} SourceKind */
/**
 * @typedef {object} SourceFacts
 * @property {string} variable   names a running server
 * @property {string} value      of the variable; empty: it is not set
 * @property {boolean} hasDocker
 * @property {string} platform
 * @property {boolean} isBroker
 * @property {boolean} mayBeAbsent  PostgreSQL alone will do
 */

/**
 * Where a server comes from. Pure, so that the order of preference is one table.
 *
 * @param {SourceFacts} facts
 * @returns {SourceKind}
 */
export function chooseSource({ variable, value, hasDocker, platform, isBroker, mayBeAbsent }) {
  if (isBroker && value === noBroker) {
    if (mayBeAbsent) return 'none';
    throw new SetupError('BROKER_NEEDED', `${variable} is "${noBroker}", but this command needs a broker`, {
      remedy: `unset ${variable} to have one made, or set it to a running one`,
    });
  }
  if (value) return 'given';
  if (hasDocker) return 'docker';
  if (!isBroker || platform === 'linux') return 'private';
  if (mayBeAbsent) return 'none';
  throw new SetupError('NO_SERVERS', `${variable} is not set and no Docker engine with compose answers`, {
    remedy: `start Docker, or set ${variable} to a running broker; private ones are made on Linux only`,
  });
}

const list = new Intl.ListFormat('en');

/**
 * @param {SourceKind} kind
 * @param {string[]} titles     of the servers
 * @param {string[]} variables  that could have named them
 * @returns {string} what was chosen and why, in one sentence
 */
export function explainChoice(kind, titles, variables) {
  const what = list.format(titles);
  if (kind === 'given') return `${what}: as ${list.format(variables)} ${variables.length > 1 ? 'say' : 'says'}.`;
  const notSet = `${list.format(variables)} ${variables.length > 1 ? 'are' : 'is'} not set`;
  if (kind === 'docker') return `${what}: by docker compose, because ${notSet} and a Docker engine answers.`;
  return `${what}: private to this clone, because ${notSet} and no Docker engine with compose answers.`;
}

/** What it means that there is no broker. @param {string} because */
export const withoutBroker = (because) =>
  `RabbitMQ: none, because ${because}. PostgreSQL alone triggers the deadlines; events and AMQP commands are off.`;

const answers = (/** @type {string[]} */ args) =>
  spawnSync('docker', args, { stdio: 'ignore', timeout: 3000, killSignal: 'SIGKILL' }).status === 0;

/** @type {boolean | undefined} */
let dockerAnswers;
/**
 * The client alone is common and starts nothing. Asked once: an engine that hangs takes 3 s to say nothing.
 * OT_STACK=private is for a machine whose engine cannot build or pull the images.
 */
export const hasDockerEngine = () =>
  (dockerAnswers ??= process.env.OT_STACK !== 'private' && answers(['compose', 'version']) && answers(['info']));

/**
 * @param {string} url
 * @returns {{ host: string, port: number }}
 */
export function endpointOf(url) {
  const { hostname, port, protocol } = new URL(url);
  const usual = { 'amqp:': 5672, 'amqps:': 5671, 'postgres:': 5432, 'postgresql:': 5432 }[protocol];
  return { host: hostname.replace(/^\[|\]$/g, '') || '127.0.0.1', port: Number(port) || usual || 0 };
}

/**
 * @param {string} urls  one or several, separated by commas
 * @returns {Promise<boolean>} whether one of them accepts connections
 */
export async function isReachable(urls) {
  for (const url of urls.split(',').filter((part) => part.trim() !== '')) {
    const { host, port } = endpointOf(url.trim());
    if (await canConnect(port, host, 3000)) return true;
  }
  return false;
}

/**
 * @param {string} variable
 * @param {string} urls
 */
export async function assertReachable(variable, urls) {
  const isOpen = await isReachable(urls).catch((/** @type {unknown} */ cause) => {
    throw new SetupError('BAD_URL', `${variable} holds something that is not a URL`, {
      remedy: `correct ${variable}`,
      cause,
    });
  });
  if (isOpen) return;
  const places = urls.split(',').map((url) => Object.values(endpointOf(url.trim())).join(':'));
  throw new SetupError('NOT_REACHABLE', `${variable} names ${places.join(', ')}, where nothing accepts connections`, {
    remedy: `start that server, or unset ${variable} to have one made`,
  });
}

/** @typedef {'rabbitmq-plain' | 'rabbitmq-plugin'} Broker */

/**
 * The broker that can do what the demo is asked to show. One that the user named is the user's choice.
 *
 * @param {string[]} args  of the demo
 * @param {{ isGiven: boolean }} facts
 * @returns {Broker}
 */
export function brokerForDemo(args, { isGiven }) {
  const at = args.findIndex((arg) => arg === '--transport' || arg.startsWith('--transport='));
  const transport = at < 0 ? undefined : (args[at]?.split('=')[1] ?? args[at + 1]);
  const wantsPlugin = transport === 'delayed-exchange' || transport === 'auto';
  return wantsPlugin && !isGiven ? 'rabbitmq-plugin' : 'rabbitmq-plain';
}

/**
 * The service gets the best broker there is: Docker's has the genuine plugin. A private one with the stand-in
 * would lose its delayed messages on a restart, and is for tests and the demo.
 *
 * @param {{ isGiven: boolean, hasDocker: boolean }} facts
 * @returns {Broker}
 */
export const brokerForService = ({ isGiven, hasDocker }) =>
  hasDocker && !isGiven ? 'rabbitmq-plugin' : 'rabbitmq-plain';

/**
 * Packages and build on the one hand, servers on the other, side by side.
 *
 * @param {ServerName[]} names
 * @param {{ signal: AbortSignal, builds?: import('../setup/build.mjs').Build[], brokerMayBeDown?: boolean,
 *   brokerMayBeAbsent?: boolean }} options
 * @returns {Promise<Record<string, string>>} environment that names the servers
 */
export async function prepareRun(names, { signal, builds, ...options }) {
  const [, servers] = await together(signal, [
    async (either) => {
      await ensureDependencies({ signal: either });
      await ensureBuilds({ signal: either, ...(builds && { builds }) });
    },
    (either) => ensureServers(names, { ...options, signal: either }),
  ]);
  return environmentFor(servers);
}
