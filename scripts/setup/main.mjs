import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { describeError, SetupError } from './errors.mjs';
import { identify, isAlive, parseStat } from './processes.mjs';

const oldestNode = /** @type {const} */ ([20, 19]);
const secondSignalAfterMs = 1000;

/**
 * Frame of every script here: checks Node, turns signals into an abort, errors into a sentence and an exit code.
 *
 * @param {(context: { args: string[], signal: AbortSignal }) => Promise<number | void>} work
 */
export async function main(work) {
  const controller = new AbortController();
  abortOnSignals(controller);
  // Sent to ourselves as a signal, so that who forwards signals forwards this one.
  watchNpm(() => process.kill(process.pid, 'SIGTERM'));
  try {
    assertNode(process.versions.node);
    const code = await work({ args: process.argv.slice(2), signal: controller.signal });
    process.exit(code ?? 0);
  } catch (error) {
    /** @type {unknown} */
    const interruption = controller.signal.reason;
    if (!interruption) process.stderr.write(`\n${describeError(error)}\n`);
    process.exit(interruption instanceof Interruption ? interruption.exitCode : 1);
  }
}

/** @param {string} version */
export function assertNode(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])) return;
  throw new SetupError('NODE_TOO_OLD', `Node ${version} is older than ${oldestNode.join('.')}`, {
    remedy: `install Node ${oldestNode.join('.')} or newer`,
  });
}

class Interruption extends Error {
  /** @param {string} message @param {number} exitCode */
  constructor(message, exitCode) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** @param {AbortController} controller */
function abortOnSignals(controller) {
  let firstAt = 0;
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(name, () => {
      const exitCode = 128 + constants.signals[name];
      if (firstAt > 0 && performance.now() - firstAt > secondSignalAfterMs) process.exit(exitCode);
      firstAt ||= performance.now();
      controller.abort(new Interruption(`ended by ${name}`, exitCode));
    });
  }
}

const lookEveryMs = 1000;

/** @param {number} pid @returns {number | undefined} */
function parentOf(pid) {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8')).parent;
  } catch {
    return undefined;
  }
}

/** npm runs a script by `sh -c`, and some shells stay in between. @param {number} pid */
function isShellCommand(pid) {
  try {
    return /^[^\0]*sh\0-c\0/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  } catch {
    return false;
  }
}

function npmPid() {
  const parent = process.ppid;
  return isShellCommand(parent) ? (parentOf(parent) ?? parent) : parent;
}

/**
 * Neither a `kill -9` of npm nor a SIGTERM to it gets here: npm passes it to the shell in between, which dies of
 * it and tells nobody. What npm ran would go on for nobody.
 *
 * @param {() => void} onGone
 */
export function watchNpm(onGone) {
  if (process.env.npm_lifecycle_event === undefined) return;
  const npm = identify(npmPid());
  const timer = setInterval(() => {
    if (isAlive(npm)) return;
    clearInterval(timer);
    onGone();
  }, lookEveryMs).unref();
}
