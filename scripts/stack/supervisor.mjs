import { closeSync, existsSync, openSync, readFileSync, renameSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { codeOf, logTailOf, messageOf, SetupError } from '../setup/errors.mjs';
import { lastLines } from '../setup/files.mjs';
import { canConnect, killGroup, spawnWithLifeline, waitUntil } from '../setup/processes.mjs';

/**
 * @template {Record<string, string>} [Access=Record<string, string>]
 * @typedef {object} ServerSpec  how to run one server
 * @property {string} name
 * @property {string} command
 * @property {string[]} args
 * @property {string} cwd
 * @property {Record<string, string>} env
 * @property {import('./place.mjs').ServerUser | undefined} [user]
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

// One server in the foreground, for a test that restarts or kills it. One JSON line per event on stdout,
// one command per line on stdin. It ends with its owner: when stdin closes, the server is killed.
/** @param {Record<string, unknown>} event */
export const tell = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);

/**
 * @param {ServerSpec} spec
 * @param {{ signal: AbortSignal, access: Record<string, unknown> }} options  `access` is told with every "ready"
 */
export async function serveThrowAway(spec, { signal, access }) {
  /** @type {Server | undefined} */
  let server;
  let isExpected = false;

  const start = async () => {
    if (server && !server.hasExited()) return;
    isExpected = false;
    const started = await startServer(spec, { signal });
    server = started;
    void started.exited.then((how) => !isExpected && tell({ event: 'exited', how }));
  };
  const end = (/** @type {typeof stopServer} */ how) => async () => {
    isExpected = true;
    if (server) await how(server, spec);
  };
  const [stop, kill] = [end(stopServer), end(killServer)];
  /** @type {Record<string, { does: (() => Promise<void>)[], event: string }>} */
  const commands = {
    start: { does: [start], event: 'ready' },
    restart: { does: [stop, start], event: 'ready' },
    stop: { does: [stop], event: 'stopped' },
    kill: { does: [kill], event: 'killed' },
  };
  const obey = async (/** @type {string} */ command) => {
    const known = commands[command];
    if (!known)
      return tell({ event: 'error', command, message: `unknown; one of ${Object.keys(commands).join(', ')}` });
    for (const step of known.does) await step();
    tell({ event: known.event, command, ...(known.event === 'ready' && { ...access, pid: server?.pid }) });
  };

  try {
    await obey('start');
    await obeyLines(obey, signal);
  } finally {
    await kill();
  }
}

/**
 * One after the other, in order, until the input or the patience of our owner ends.
 *
 * @param {(command: string) => Promise<unknown>} obey
 * @param {AbortSignal} signal
 */
export async function obeyLines(obey, signal) {
  const lines = createInterface({ input: process.stdin, signal });
  for await (const line of lines) {
    const command = line.trim();
    if (command === '') continue;
    try {
      await obey(command);
    } catch (error) {
      tell({ event: 'error', command, code: codeOf(error), message: messageOf(error), logTail: logTailOf(error) });
    }
  }
}
