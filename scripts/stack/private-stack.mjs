import { rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { readJson, writeJson } from '../setup/files.mjs';
import { withLock } from '../setup/lock.mjs';
import { openFolder, repository, stackFolder } from '../setup/paths.mjs';
import { say, showProgress } from '../setup/progress.mjs';
import { run, together } from '../setup/processes.mjs';
import { obtainDelayedExchange } from './delayed-exchange.mjs';
import { ensureKeeper, formerKeeperEnds, readyServer, registerUser, requestServer } from './keeper-client.mjs';
import { findFreeBlock, isBlockFree, passwords, serverHome } from './place.mjs';
import { obtainPostgres, postgresServer } from './postgres.mjs';
import { obtainRabbitmq, rabbitmqServer } from './rabbitmq.mjs';

// A download of RabbitMQ, a download of PostgreSQL and a start, each within its own limit.
const lockLimitMs = 12 * 60_000;

/** @typedef {'postgres' | 'rabbitmq-plain' | 'rabbitmq-plugin'} ServerName */
/** @typedef {{ signal: AbortSignal | undefined, note: (text: string) => void }} Step */

const portsFile = () => join(stackFolder(), 'ports.json');
const readPorts = () => /** @type {Partial<Record<ServerName, number>>} */ (readJson(portsFile()) ?? {});

/** @param {ServerName} name */
function basePortOf(name) {
  const base = readPorts()[name];
  if (base === undefined) throw new Error(`no ports are settled for ${name}`);
  return base;
}

/** The ports a server had last time, so that a URL written down stays true; others where they are taken. @param {ServerName} name */
async function settlePorts(name) {
  const { [name]: known, ...others } = readPorts();
  if (known && (await isBlockFree(known))) return;
  const base = await findFreeBlock(`${repository}\n${name}`, Object.values(others));
  writeJson(portsFile(), { ...others, [name]: base });
}

/**
 * @typedef {{ name: ServerName, home: string, user: import('./place.mjs').ServerUser | undefined,
 *   logFile: string, signal: AbortSignal | undefined }} Common
 */

/** @param {ServerName} name @param {Step} step */
async function specOf(name, step) {
  const place = serverHome();
  const common = { name, user: place.user, logFile: join(stackFolder('log'), `${name}.log`), signal: step.signal };
  const make = name === 'postgres' ? postgresSpec : rabbitmqSpec;
  return make({ ...common, home: place.home }, step);
}

/** The version stands in the name: neither server opens the data of a newer one. */
const dataFolder = (/** @type {Common} */ { home, name }, /** @type {string} */ version) =>
  join(home, 'data', `${name}-${version}`);

/** @param {Common} options @param {Step} step */
async function postgresSpec(options, { signal, note }) {
  const { home, user, name } = options;
  const installation = await obtainPostgres({ home, shared: Boolean(user), signal, note });
  const [major = ''] = installation.version.split('.');
  const directory = dataFolder(options, major);
  note('starting');
  const password = passwords(home).postgres;
  return postgresServer({ ...options, directory, basePort: basePortOf(name), password, installation });
}

/** @param {Common} options @param {Step} step */
async function rabbitmqSpec(options, { signal, note }) {
  const { home, user, name } = options;
  const installation = await obtainRabbitmq({ home, shared: Boolean(user), signal, note });
  const delayedExchange = name === 'rabbitmq-plugin' ? await delayedExchangeFor(installation, options) : undefined;
  const directory = dataFolder(options, installation.version);
  note('starting');
  const basePort = basePortOf(name);
  const password = passwords(home).rabbitmq;
  return rabbitmqServer({ ...options, directory, basePort, password, installation, delayedExchange, prometheus: true });
}

/**
 * @param {import('./rabbitmq.mjs').RabbitmqInstallation} installation
 * @param {{ home: string, user?: import('./place.mjs').ServerUser | undefined, signal?: AbortSignal | undefined }} options
 */
export async function delayedExchangeFor(installation, { home, user, signal }) {
  // A folder per version: what one broker has loaded is not compiled anew for another.
  const outDirectory = join(home, 'delayed-exchange-stand-in', installation.version);
  const made = await obtainDelayedExchange(installation, { outDirectory });
  if (user && made.folders.length > 0) await run('chmod', ['-R', 'a+rX', outDirectory], { limitMs: 10_000, signal });
  return made;
}

const titles = {
  postgres: 'private PostgreSQL',
  'rabbitmq-plain': 'private RabbitMQ',
  'rabbitmq-plugin': 'private RabbitMQ with delayed exchange',
};

/** @param {ServerName} name @param {AbortSignal | undefined} signal */
function ensureServer(name, signal) {
  return showProgress(titles[name], async (note) => {
    const spec = await specOf(name, { signal, note });
    return (await requestServer(spec, { signal })).access;
  });
}

/**
 * Only one process at a time starts or deletes servers of this clone.
 *
 * @template T
 * @param {AbortSignal | undefined} signal
 * @param {() => Promise<T>} work
 */
export function withStackLock(signal, work) {
  /** @type {import('../setup/lock.mjs').WhileWaiting} */
  const whileWaiting = (wait, holder) => showProgress(`waiting for ${holder}`, wait);
  return withLock('stack', { limitMs: lockLimitMs, signal, whileWaiting }, work);
}

/**
 * Private servers of this clone, started where they do not run yet. They stop soon after the last process
 * that called this is gone.
 *
 * @param {ServerName[]} names
 * @param {{ signal?: AbortSignal | undefined }} [options]
 * @returns {Promise<Record<string, Record<string, string>>>} how to reach them, by name
 */
export function ensurePrivateServers(names, { signal } = {}) {
  registerUser();
  return withStackLock(signal, async () => {
    const missing = names.filter((name) => !readyServer(name));
    if (missing.length > 0) await startMissing(missing, signal);
    return Object.fromEntries(names.map((name) => /** @type {const} */ ([name, readyServer(name)?.access ?? {}])));
  });
}

/**
 * A copied clone has a copy of the data too, taken while the original may have written: neither server would trust it.
 * A moved one keeps its data, also if there is another clone at its former place.
 *
 * @param {string} folder
 * @param {AbortSignal} [signal]
 */
export async function claimData(folder, signal) {
  const marker = join(folder, 'clone.json');
  const ownerOf = (/** @type {string} */ path) => /** @type {{ clone?: string } | undefined} */ (readJson(path))?.clone;
  const owner = ownerOf(marker) ?? repository;
  if (owner !== repository) {
    if (ownerOf(join(owner, relative(repository, marker))) === owner) {
      say(`This clone was copied from ${owner}: it starts with empty data.`);
      rmSync(folder, { recursive: true, force: true });
    } else await formerKeeperEnds(signal);
  }
  openFolder(folder);
  writeJson(marker, { clone: repository });
}

/** @param {ServerName[]} names @param {AbortSignal | undefined} signal */
async function startMissing(names, signal) {
  const { home, movedBecause } = serverHome();
  if (movedBecause) say(`The servers live in ${home} and not in this clone: ${movedBecause}.`);
  await claimData(join(home, 'data'), signal);
  // First, because it ends what a killed keeper left on the ports.
  await ensureKeeper({ signal });
  // One after the other: two servers must not find the same free block.
  for (const name of names) await settlePorts(name);
  await together(
    signal,
    names.map((name) => (/** @type {AbortSignal} */ either) => ensureServer(name, either)),
  );
}
