import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError } from '../../scripts/setup/errors.mjs';
import { run, together, waitUntil } from '../../scripts/setup/processes.mjs';
import { makeServerFolder, passwords, throwAwayPlace, writeServerFile } from '../../scripts/stack/place.mjs';
import { delayedExchangeFor } from '../../scripts/stack/private-stack.mjs';
import { binaryNextTo, rabbitmqServer } from '../../scripts/stack/rabbitmq.mjs';
import { killServer, startServer } from '../../scripts/stack/supervisor.mjs';

/** @typedef {import('../../scripts/stack/rabbitmq.mjs').RabbitmqInstallation} RabbitmqInstallation */
/** @typedef {import('../../scripts/stack/rabbitmq.mjs').RabbitmqAccess} RabbitmqAccess */
/** @typedef {import('../../scripts/stack/supervisor.mjs').ServerSpec} ServerSpec */
/** @typedef {import('../../scripts/stack/supervisor.mjs').ServerSpec<RabbitmqAccess>} NodeSpec */
/** @typedef {Awaited<ReturnType<typeof throwAwayPlace>>} Place */

const names = ['a', 'b', 'c'];
const fullName = (/** @type {string} */ name) => `matrix-${name}@localhost`;
const joinLimitMs = 60_000;
// Nodes of one cluster show the same. It guards nothing here that the password of the user does not.
const cookie = 'NESTJSORDERTIMEOUTMATRIX';

/**
 * Three nodes on one machine that form a cluster, each to be killed and started again.
 *
 * @param {RabbitmqInstallation} installation
 * @param {{ signal: AbortSignal }} options
 */
export async function startCluster(installation, { signal }) {
  const first = await throwAwayPlace(undefined);
  const epmdPort = first.basePort + 4;
  /** @type {Map<string, NodeSpec>} */
  const specs = new Map();
  for (const name of names) {
    const place = specs.size === 0 ? first : await throwAwayPlace(undefined);
    specs.set(name, nodeSpec(installation, { name, place, epmdPort }));
  }
  const epmd = await startServer(epmdSpec(installation, first, epmdPort), { signal });
  /** @type {Map<string, import('../../scripts/stack/supervisor.mjs').Server>} */
  const running = new Map();
  const start = async (/** @type {string} */ name, either = signal) => {
    const spec = specs.get(name);
    if (!spec) throw new SetupError('USAGE', `no node ${name}; one of ${names.join(', ')}`);
    running.set(name, await startServer(spec, { signal: either }));
    await managementReady(spec, either);
  };
  const kill = async (/** @type {string} */ name) => {
    const server = running.get(name);
    running.delete(name);
    if (server) await killServer(server);
  };
  const close = async () => {
    await Promise.all(names.map(kill));
    await killServer(epmd);
  };
  try {
    await together(
      signal,
      names.map((name) => (/** @type {AbortSignal} */ either) => start(name, either)),
    );
    // One after the other: two that join at once may lock each other out.
    for (const spec of [...specs.values()].slice(1)) await joinCluster(installation, spec, signal);
    for (const spec of specs.values()) await managementReady(spec, signal);
  } catch (error) {
    await close();
    throw error;
  }
  const nodes = [...specs].map(([name, { access }]) => ({ name, node: fullName(name), ...access }));
  return { nodes, start, kill, close };
}

/**
 * @param {RabbitmqInstallation} installation
 * @param {{ name: string, place: Place, epmdPort: number }} options
 * @returns {NodeSpec}
 */
function nodeSpec(installation, { name, place, epmdPort }) {
  const { directory, user, home } = place;
  const logFile = join(directory, 'rabbitmq.log');
  const password = passwords(home).rabbitmq;
  const spec = rabbitmqServer({ ...place, installation, password, name: `matrix-${name}`, logFile });
  makeServerFolder(join(directory, 'home'), user);
  writeServerFile(join(directory, 'home', '.erlang.cookie'), cookie, user);
  chmodSync(join(directory, 'home', '.erlang.cookie'), 0o400);
  // Without an epmd of its own: the others' would go when the node is killed.
  const args = spec.args.map((arg) => (arg === binaryNextTo(installation, 'epmd') ? '' : arg));
  return { ...spec, args, env: { ...spec.env, ERL_EPMD_PORT: String(epmdPort) } };
}

/**
 * Joined by command and not by peer discovery, whose first node waits minutes for the others on RabbitMQ 4.
 *
 * @param {{ rabbitHome: string }} installation
 * @param {ServerSpec} node
 * @param {AbortSignal} signal
 */
async function joinCluster(installation, { cwd, env, user }, signal) {
  const tool = join(installation.rabbitHome, 'sbin', 'rabbitmqctl');
  for (const args of [['stop_app'], ['reset'], ['join_cluster', fullName('a')], ['start_app']]) {
    await run(tool, args, { cwd, env, ...user, limitMs: joinLimitMs, signal });
  }
}

/**
 * What tells nodes each other's ports.
 *
 * @param {RabbitmqInstallation} installation
 * @param {Place} place
 * @param {number} port
 * @returns {ServerSpec}
 */
function epmdSpec(installation, { directory, user }, port) {
  return {
    name: 'epmd',
    command: binaryNextTo(installation, 'epmd') ?? 'epmd',
    args: ['-port', String(port), '-address', '127.0.0.1'],
    cwd: directory,
    env: {},
    user,
    ports: [port],
    stopSignal: 'SIGTERM',
    stopLimitMs: 1000,
    startLimitMs: 10_000,
    logFile: join(directory, 'epmd.log'),
    access: {},
  };
}

const readyLimitMs = 30_000;

/** @typedef {{ access: RabbitmqAccess, stop: () => Promise<void> }} Node */

/**
 * One broker with data of its own, on ports of its own. The data goes with this process.
 *
 * @param {RabbitmqInstallation} installation
 * @param {{ profile: 'plain' | 'plugin', signal: AbortSignal }} options
 * @returns {Promise<Node>}
 */
export async function startNode(installation, { profile, signal }) {
  const place = await throwAwayPlace(undefined);
  const isPlugin = profile === 'plugin';
  const delayedExchange = isPlugin ? await delayedExchangeFor(installation, { ...place, signal }) : undefined;
  const given = { installation, delayedExchange, password: passwords(place.home).rabbitmq };
  const logFile = join(place.directory, 'rabbitmq.log');
  const spec = rabbitmqServer({ ...place, ...given, name: `matrix-${profile}`, logFile });
  const server = await startServer(spec, { signal });
  await managementReady(spec, signal);
  // Nothing of it is wanted any more, so nothing has to be flushed.
  return { access: spec.access, stop: () => killServer(server) };
}

/**
 * RabbitMQ 4.3 takes connections before its management API answers.
 *
 * @param {import('../../scripts/stack/supervisor.mjs').ServerSpec<RabbitmqAccess>} spec
 * @param {AbortSignal} signal
 */
export async function managementReady({ name, access, logFile }, signal) {
  const { username, password, origin } = new URL(access.managementUrl);
  const headers = { authorization: `Basic ${btoa(`${username}:${password}`)}` };
  const answers = () =>
    fetch(`${origin}/api/overview`, { headers, signal }).then(
      ({ ok }) => ok,
      () => false,
    );
  if (await waitUntil(answers, { limitMs: readyLimitMs, signal })) return;
  throw new SetupError('SERVER_FAILED', `the management API of ${name} does not answer`, { logFile });
}
