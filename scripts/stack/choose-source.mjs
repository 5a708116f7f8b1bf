import { spawnSync } from 'node:child_process';
import { canConnect } from '../setup/wait.mjs';
import { SetupError } from '../setup/setup-error.mjs';

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
