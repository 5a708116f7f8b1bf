import { chmodSync } from 'node:fs';
import path from 'node:path';
import { run } from '../setup/run.mjs';
import { together } from '../setup/together.mjs';
import { binaryNextTo } from '../stack/rabbitmq-installation.mjs';
import { rabbitmqServer } from '../stack/rabbitmq-server.mjs';
import { passwords } from '../stack/secrets.mjs';
import { makeServerFolder, writeServerFile } from '../stack/server-user.mjs';
import { killServer, startServer } from '../stack/supervisor.mjs';
import { throwAwayPlace } from '../stack/throw-away-place.mjs';
import { managementReady } from './start-node.mjs';

/** @typedef {import('../stack/supervisor.mjs').ServerSpec} ServerSpec */

const names = ['a', 'b', 'c'];
const fullName = (/** @type {string} */ name) => `matrix-${name}@localhost`;
const joinLimitMs = 60_000;
// Nodes of one cluster show the same. It guards nothing here that the password of the user does not.
const cookie = 'NESTJSORDERTIMEOUTMATRIX';

/**
 * Three nodes on one machine that form a cluster, each to be killed and started again.
 *
 * @param {import('../stack/rabbitmq-installation.mjs').RabbitmqInstallation} installation
 * @param {{ signal: AbortSignal }} options
 */
export async function startCluster(installation, { signal }) {
  const places = [];
  for (const _ of names) places.push(await throwAwayPlace(undefined));
  const epmdPort = places[0].basePort + 4;
  const specs = names.map((name, index) => nodeSpec(installation, { name, place: places[index], epmdPort }));
  const epmd = await startServer(epmdSpec(installation, places[0], epmdPort), { signal });
  /** @type {Map<string, import('../stack/supervisor.mjs').Server>} */
  const running = new Map();
  const start = async (/** @type {string} */ name, either = signal) => {
    const spec = specs[names.indexOf(name)];
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
    for (const spec of specs.slice(1)) await join(installation, spec, signal);
    for (const spec of specs) await managementReady(spec, signal);
  } catch (error) {
    await close();
    throw error;
  }
  const nodes = names.map((name, index) => ({ name, node: fullName(name), ...specs[index].access }));
  return { nodes, start, kill, close };
}

/** @returns {ServerSpec} */
function nodeSpec(installation, { name, place, epmdPort }) {
  const { directory, user, home } = place;
  const logFile = path.join(directory, 'rabbitmq.log');
  const password = passwords(home).rabbitmq;
  const spec = rabbitmqServer({ ...place, installation, password, name: `matrix-${name}`, logFile });
  makeServerFolder(path.join(directory, 'home'), user);
  writeServerFile(path.join(directory, 'home', '.erlang.cookie'), cookie, user);
  chmodSync(path.join(directory, 'home', '.erlang.cookie'), 0o400);
  // Without an epmd of its own: the others' would go when the node is killed.
  const args = spec.args.map((arg) => (arg === binaryNextTo(installation, 'epmd') ? '' : arg));
  return { ...spec, args, env: { ...spec.env, ERL_EPMD_PORT: String(epmdPort) } };
}

/**
 * By hand and not by peer discovery, whose first node waits minutes for the others on RabbitMQ 4.
 *
 * @param {{ rabbitHome: string }} installation
 * @param {ServerSpec} node
 * @param {AbortSignal} signal
 */
async function join(installation, { cwd, env, user }, signal) {
  const tool = path.join(installation.rabbitHome, 'sbin', 'rabbitmqctl');
  for (const args of [['stop_app'], ['reset'], ['join_cluster', fullName('a')], ['start_app']]) {
    await run(tool, args, { cwd, env, ...user, limitMs: joinLimitMs, signal });
  }
}

/** What tells nodes each other's ports. @returns {ServerSpec} */
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
    logFile: path.join(directory, 'epmd.log'),
    access: {},
  };
}
