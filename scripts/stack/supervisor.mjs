import { closeSync, existsSync, openSync, readFileSync, renameSync } from 'node:fs';
import { codeOf } from '../setup/error-code.mjs';
import { lastLines } from '../setup/files.mjs';
import { killGroup, spawnWithLifeline } from '../setup/run.mjs';
import { SetupError } from '../setup/setup-error.mjs';
import { canConnect, waitUntil } from '../setup/wait.mjs';

/**
 * @template {Record<string, string>} [Access=Record<string, string>]
 * @typedef {object} ServerSpec  how to run one server
 * @property {string} name
 * @property {string} command
 * @property {string[]} args
 * @property {string} cwd
 * @property {Record<string, string>} env
 * @property {import('./server-user.mjs').ServerUser | undefined} [user]
 * @property {number[]} ports          open when it is ready
 * @property {{ path: string, line: number, text: string }} [readyFile]  written by it when it is ready; line 1 is its pid
 * @property {NodeJS.Signals} stopSignal
 * @property {number} stopLimitMs
 * @property {number} startLimitMs
 * @property {string} logFile
 * @property {Access} access  handed to its users
 */

/**
 * @typedef {object} Server
 * @property {number} pid
 * @property {Promise<string>} exited  how it ended
 * @property {() => boolean} hasExited
 */

/** One earlier log is kept: the interesting one is often that of the run before. @param {string} path */
function openLog(path) {
  if (existsSync(path)) renameSync(path, `${path}.1`);
  return openSync(path, 'w', 0o600);
}

/**
 * @param {ServerSpec} spec
 * @returns {Server}
 */
function spawnServer({ command, args, cwd, env, user, logFile }) {
  const log = openLog(logFile);
  const child = spawnWithLifeline(command, args, { owns: 'group', stdio: ['ignore', log, log], cwd, env, ...user });
  closeSync(log);
  let isOver = false;
  const exited = new Promise((/** @type {(how: string) => void} */ resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? `code ${code}`));
    child.once('error', (error) => resolve(error.message));
  });
  void exited.then(() => (isOver = true));
  return { pid: child.pid ?? 0, exited, hasExited: () => isOver };
}

/** @param {ServerSpec} spec @param {Server} server */
async function isReady({ ports, readyFile }, server) {
  for (const port of ports) if (!(await canConnect(port))) return false;
  if (!readyFile) return true;
  if (!existsSync(readyFile.path)) return false;
  const lines = readFileSync(readyFile.path, 'utf8').split('\n');
  // What a killed predecessor left says "ready" too, with another pid.
  return lines[0] === String(server.pid) && lines[readyFile.line - 1]?.trim() === readyFile.text;
}

/**
 * @param {ServerSpec} spec
 * @param {{ signal?: AbortSignal | undefined, onSpawn?: (server: Server) => void }} [options]
 * @returns {Promise<Server>} ready for use
 */
export async function startServer(spec, { signal, onSpawn } = {}) {
  const server = spawnServer(spec);
  onSpawn?.(server);
  try {
    const look = async () => server.hasExited() || (await isReady(spec, server));
    const answer = await waitUntil(look, { everyMs: 50, limitMs: spec.startLimitMs, signal });
    if (server.hasExited()) throw startFailure(spec, `ended while starting (${await server.exited})`);
    if (!answer) throw startFailure(spec, `was not ready within ${spec.startLimitMs / 1000} s`);
    return server;
  } catch (error) {
    await killServer(server);
    throw error;
  }
}

/** @param {ServerSpec} spec @param {string} what */
function startFailure({ name, logFile }, what) {
  return new SetupError('SERVER_FAILED', `${name} ${what}`, {
    logTail: lastLines(logFile),
    logFile,
    remedy:
      'read the log above; `npm run stack -- reset` starts over with empty data, `npm run stack -- reset --all` downloads the programs again too',
  });
}

/** @param {Server} server */
export async function killServer(server) {
  if (!server.hasExited()) killGroup(server.pid, 'SIGKILL');
  await server.exited;
}

/**
 * Asks it to stop, and makes it stop when it does not in time.
 *
 * @param {Server} server
 * @param {ServerSpec} spec
 */
export async function stopServer(server, { stopSignal, stopLimitMs }) {
  if (server.hasExited()) return;
  try {
    process.kill(server.pid, stopSignal);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
  await waitUntil(server.hasExited, { everyMs: 20, limitMs: stopLimitMs });
  await killServer(server);
}
