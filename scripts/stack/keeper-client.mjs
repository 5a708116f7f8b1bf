import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SetupError } from '../setup/errors.mjs';
import { lastLines, readJson, writeJson } from '../setup/files.mjs';
import { repository, stackFolder } from '../setup/paths.mjs';
import { canConnect, identify, isAlive, signalProcess, waitUntil } from '../setup/processes.mjs';

const keeperScript = fileURLToPath(new URL('keeper.mjs', import.meta.url));
// The slowest server may take all of its own limit to stop.
const stopLimitMs = 30_000;
const startLimitMs = 100_000;

/** @returns {StackState | undefined} undefined when no keeper lives */
export function livingState() {
  const state = readState();
  return isAlive(state?.keeper) ? state : undefined;
}

/**
 * @param {string} name
 * @returns {ServerState | undefined} of a server that is ready for use
 */
export function readyServer(name) {
  const state = livingState();
  const server = state?.stopping ? undefined : state?.servers[name];
  return server?.status === 'ready' && isAlive(server) ? server : undefined;
}

/** What a killed keeper owned ends by its lifeline; this makes sure. */
async function clearLeftovers() {
  const servers = Object.values(readState()?.servers ?? {});
  for (const server of servers) signalProcess(server, 'SIGKILL', { group: true });
  await waitUntil(() => !servers.some(isAlive), { limitMs: 5000 });
  removeState();
}

function spawnKeeper() {
  const logFile = join(stackFolder('log'), 'keeper.log');
  const log = openSync(logFile, 'w', 0o600);
  // Its own session: the terminal's Ctrl-C and the end of the terminal are not for it.
  spawn(process.execPath, [keeperScript], { detached: true, stdio: ['ignore', log, log], cwd: '/' }).unref();
  closeSync(log);
  return logFile;
}

/**
 * Call with the lock "stack" held.
 *
 * @param {{ signal?: AbortSignal | undefined }} [options]
 * @returns {Promise<StackState>}
 */
export async function ensureKeeper({ signal } = {}) {
  const known = livingState();
  if (known && !known.stopping) return known;
  if (known) await waitUntil(() => !livingState(), { limitMs: stopLimitMs, signal });
  await clearLeftovers();
  const logFile = spawnKeeper();
  const state = await waitUntil(livingState, { everyMs: 30, limitMs: 10_000, signal });
  if (state) return state;
  throw new SetupError('KEEPER_FAILED', 'the process that owns the private servers did not start', {
    logTail: lastLines(logFile),
    logFile,
  });
}

/** A clone was moved while its servers ran: their keeper notices that it is gone, and stops them. @param {AbortSignal} [signal] */
export async function formerKeeperEnds(signal) {
  const keeper = /** @type {StackState | undefined} */ (readJson(stateFile()))?.keeper;
  await waitUntil(() => !isAlive(keeper), { limitMs: stopLimitMs, signal });
}

/**
 * @param {import('./supervisor.mjs').ServerSpec} spec
 * @param {{ signal?: AbortSignal | undefined }} [options]
 * @returns {Promise<ServerState>} once it is ready
 */
export async function requestServer(spec, { signal } = {}) {
  writeRequest(spec);
  const answer = await waitUntil(() => answerTo(spec.name), { everyMs: 100, limitMs: startLimitMs, signal });
  if (answer?.status === 'ready') return /** @type {ServerState} */ (answer);
  throw new SetupError('SERVER_FAILED', answer?.problem ?? `${spec.name}: no answer within ${startLimitMs / 1000} s`, {
    logTail: answer?.logTail ?? lastLines(spec.logFile),
    logFile: spec.logFile,
    remedy:
      'read the log above; `npm run stack -- reset` starts over with empty data, `npm run stack -- reset --all` downloads the programs again too',
  });
}

/**
 * @param {string} name
 * @returns {Partial<ServerState> | undefined} undefined while there is no answer yet
 */
function answerTo(name) {
  const state = livingState();
  if (!state) return { status: 'failed', problem: 'the process that owns the private servers has died' };
  if (readRequests().some((request) => request.name === name)) return undefined;
  const server = state.servers[name];
  return server?.status === 'starting' ? undefined : server;
}

/**
 * @param {{ signal?: AbortSignal | undefined }} [options]
 * @returns {Promise<boolean>} whether anything ran
 */
export async function stopKeeper({ signal } = {}) {
  const state = livingState();
  if (!state) return clearLeftovers().then(() => false);
  signalProcess(state.keeper, 'SIGTERM');
  await waitUntil(() => !isAlive(state.keeper), { limitMs: stopLimitMs, signal });
  if (isAlive(state.keeper)) signalProcess(state.keeper, 'SIGKILL');
  const ports = Object.values(state.servers).flatMap((server) => server.ports);
  await waitUntil(() => areClosed(ports), { limitMs: 10_000, signal });
  await clearLeftovers();
  return true;
}

/** @param {number[]} ports */
async function areClosed(ports) {
  for (const port of ports) if (await canConnect(port)) return false;
  return true;
}

// What the keeper tells and is told, as files: they outlive any of the processes and need no protocol. Each file names its
// clone, because a copied clone brings along the files of the original: its servers are not for the copy to use or to stop.
/**
 * @typedef {object} ServerState
 * @property {'starting' | 'ready' | 'failed'} status
 * @property {number} pid
 * @property {string} startTime
 * @property {string} logFile
 * @property {Record<string, string>} access
 * @property {number[]} ports
 * @property {string} [problem]   why it failed
 * @property {string[]} [logTail]
 */

/**
 * @typedef {object} StackState
 * @property {import('../setup/processes.mjs').ProcessIdentity} keeper
 * @property {boolean} stopping
 * @property {Record<string, ServerState>} servers
 */

const stateFile = () => join(stackFolder(), 'state.json');
const requestFolder = () => stackFolder('requests');

/** @param {string} path @param {object} value */
const writeOwn = (path, value) => writeJson(path, { clone: repository, ...value });

/** @param {string} path @returns {unknown} undefined: there is none, or it is of another clone */
function readOwn(path) {
  const found = /** @type {{ clone?: string } | undefined} */ (readJson(path));
  return found?.clone === repository ? found : undefined;
}

/** @returns {StackState | undefined} */
export const readState = () => /** @type {StackState | undefined} */ (readOwn(stateFile()));
/** @param {StackState} state */
export const writeState = (state) => writeOwn(stateFile(), state);
export const removeState = () => rmSync(stateFile(), { force: true });

/** @param {import('./supervisor.mjs').ServerSpec} spec */
export const writeRequest = (spec) => writeOwn(join(requestFolder(), `${spec.name}.json`), spec);
/** @param {string} name */
export const removeRequest = (name) => rmSync(join(requestFolder(), `${name}.json`), { force: true });

/** @typedef {import('../setup/processes.mjs').ProcessIdentity} ProcessIdentity */

/** @param {string} path @param {ProcessIdentity} identity */
export const writeIdentity = (path, identity) => writeOwn(path, identity);
/** @param {string} path */
export const readIdentity = (path) => /** @type {ProcessIdentity | undefined} */ (readOwn(path));

/** @returns {import('./supervisor.mjs').ServerSpec[]} */
export function readRequests() {
  const names = readdirSync(requestFolder()).filter((name) => name.endsWith('.json'));
  const found = names.map((name) => readOwn(join(requestFolder(), name)));
  return /** @type {import('./supervisor.mjs').ServerSpec[]} */ (found.filter(Boolean));
}

// Who needs the private servers. The keeper stops them when nobody is left.
const folder = () => stackFolder('users');
const pinFile = () => join(folder(), 'pinned');

/** Counts this process among the users until it ends, however it ends. */
export function registerUser() {
  const path = join(folder(), String(process.pid));
  writeIdentity(path, identify(process.pid));
  process.on('exit', () => rmSync(path, { force: true }));
}

/** @returns {number[]} pids of living users; what the dead left is removed */
export function livingUsers() {
  const pids = readdirSync(folder()).filter((name) => /^\d+$/.test(name));
  /** @type {[string[], string[]]} */
  const [alive, dead] = [[], []];
  for (const pid of pids) (isAlive(readIdentity(join(folder(), pid))) ? alive : dead).push(pid);
  for (const pid of dead) rmSync(join(folder(), pid), { force: true });
  return alive.map(Number);
}

/**
 * Keeps the servers running without users. Bound to one keeper: after a reboot nothing is pinned.
 *
 * @param {ProcessIdentity} keeper
 */
export const pin = (keeper) => writeIdentity(pinFile(), keeper);
export const unpin = () => rmSync(pinFile(), { force: true });

/** @param {ProcessIdentity | undefined} keeper */
export function isPinned(keeper) {
  const pinned = readIdentity(pinFile());
  return pinned !== undefined && pinned.pid === keeper?.pid && pinned.startTime === keeper?.startTime;
}
