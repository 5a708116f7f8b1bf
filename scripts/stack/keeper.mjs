// Owns the private servers of one clone, so that they outlive the run that asked for them and serve the next,
// and so that nothing is left when the last user is gone, even by `kill -9`.
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { lastLines } from '../setup/files.mjs';
import { tryLock } from '../setup/lock.mjs';
import { stackDirectory } from '../setup/paths.mjs';
import { identify } from '../setup/processes.mjs';
import { messageOf } from '../setup/errors.mjs';
import {
  isPinned,
  livingUsers,
  readRequests,
  readState,
  removeRequest,
  removeState,
  writeState,
} from './keeper-client.mjs';
import { startServer, stopServer } from './supervisor.mjs';

const pollMs = 200;
const pollsPerUserCheck = 5;
const self = identify(process.pid);

/** @typedef {{ spec: import('./supervisor.mjs').ServerSpec, server?: import('./supervisor.mjs').Server }} Owned */
/** @type {Map<string, Owned>} */
const owned = new Map();
/** @type {import('./keeper-client.mjs').StackState} */
const state = { keeper: self, stopping: false, servers: {} };
let shouldStop = false;

/** @param {string} name */
function stateOf(name) {
  const known = state.servers[name];
  if (!known) throw new Error(`no state of ${name}`);
  return known;
}

/** @param {string} name @param {Partial<import('./keeper-client.mjs').ServerState>} change */
function tell(name, change) {
  state.servers[name] = { ...stateOf(name), ...change };
  writeState(state);
}

/** @param {string} name @param {unknown} error */
function tellFailure(name, error) {
  owned.delete(name);
  const { logFile } = stateOf(name);
  tell(name, { status: 'failed', pid: 0, startTime: '', problem: messageOf(error), logTail: lastLines(logFile) });
}

/** @param {import('./supervisor.mjs').ServerSpec} spec */
async function start(spec) {
  const { name, logFile, access, ports } = spec;
  owned.set(name, { spec });
  // State first, request second: who waits for the request to be taken then reads an answer that is about it.
  state.servers[name] = { status: 'starting', pid: 0, startTime: '', logFile, access, ports };
  writeState(state);
  removeRequest(name);
  try {
    const onSpawn = (/** @type {import('./supervisor.mjs').Server} */ server) => {
      owned.set(name, { spec, server });
      tell(name, identify(server.pid));
    };
    const server = await startServer(spec, { onSpawn });
    tell(name, { status: 'ready' });
    void server.exited.then((how) => !shouldStop && tellFailure(name, new Error(`ended by itself (${how})`)));
  } catch (error) {
    tellFailure(name, error);
  }
}

function takeRequests() {
  for (const spec of readRequests()) {
    if (owned.has(spec.name)) removeRequest(spec.name);
    else void start(spec);
  }
}

const isUnused = () => livingUsers().length === 0 && !isPinned(self) && readRequests().length === 0;

/** The lock keeps a new user from counting on servers that are about to go. */
function stopIfUnused() {
  if (!isUnused()) return;
  const release = tryLock('stack');
  if (!release) return;
  shouldStop = isUnused();
  if (shouldStop) announceStop();
  release();
}

function announceStop() {
  state.stopping = true;
  writeState(state);
}

/** Somebody deleted .stack or moved the clone, or another keeper took over. To read would make the folder again. */
const isDisowned = () => !existsSync(stackDirectory) || readState()?.keeper.pid !== process.pid;

async function keep() {
  writeState(state);
  for (let poll = 1; !shouldStop && existsSync(stackDirectory); poll += 1) {
    takeRequests();
    if (poll % pollsPerUserCheck === 0) {
      if (isDisowned()) return;
      stopIfUnused();
    }
    await sleep(pollMs);
  }
}

async function stopAll() {
  shouldStop = true;
  const stop = async (/** @type {Owned} */ { server, spec }) => {
    if (server) await stopServer(server, spec);
  };
  await Promise.all([...owned.values()].map(stop));
}

process.on('SIGTERM', () => {
  shouldStop = true;
  announceStop();
});
process.on('SIGINT', () => {});
process.on('SIGHUP', () => {});
try {
  await keep();
} finally {
  const disowned = isDisowned();
  await stopAll();
  if (!disowned) removeState();
}
process.exit(0);
