import { constants } from 'node:os';
import { watchNpm } from './npm-parent.mjs';
import { describeError, SetupError } from './setup-error.mjs';

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
