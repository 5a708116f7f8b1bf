import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lastLines } from '../setup/files.mjs';
import { stackFolder } from '../setup/paths.mjs';
import { isAlive, signalProcess } from '../setup/process-identity.mjs';
import { SetupError } from '../setup/setup-error.mjs';
import { canConnect, waitUntil } from '../setup/wait.mjs';
import { readRequests, readState, removeState, writeRequest } from './state.mjs';

const keeperScript = fileURLToPath(new URL('keeper.mjs', import.meta.url));
// The slowest server may take all of its own limit to stop.
const stopLimitMs = 30_000;
const startLimitMs = 100_000;

/** @returns {import('./state.mjs').StackState | undefined} undefined when no keeper lives */
export function livingState() {
  const state = readState();
  return isAlive(state?.keeper) ? state : undefined;
}

/**
 * @param {string} name
 * @returns {import('./state.mjs').ServerState | undefined} of a server that is ready for use
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
 * @returns {Promise<import('./state.mjs').StackState>}
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

/**
 * @param {import('./supervisor.mjs').ServerSpec} spec
 * @param {{ signal?: AbortSignal | undefined }} [options]
 * @returns {Promise<import('./state.mjs').ServerState>} once it is ready
 */
export async function requestServer(spec, { signal } = {}) {
  writeRequest(spec);
  const answer = await waitUntil(() => answerTo(spec.name), { everyMs: 100, limitMs: startLimitMs, signal });
  if (answer?.status === 'ready') return /** @type {import('./state.mjs').ServerState} */ (answer);
  throw new SetupError('SERVER_FAILED', answer?.problem ?? `${spec.name}: no answer within ${startLimitMs / 1000} s`, {
    logTail: answer?.logTail ?? lastLines(spec.logFile),
    logFile: spec.logFile,
    remedy:
      'read the log above; `npm run stack -- reset` starts over with empty data, `npm run stack -- reset --all` downloads the programs again too',
  });
}

/**
 * @param {string} name
 * @returns {Partial<import('./state.mjs').ServerState> | undefined} undefined while there is no answer yet
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
