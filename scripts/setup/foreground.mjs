import { constants } from 'node:os';
import { killGroup, spawnWithLifeline } from './run.mjs';

// npm passes on what the terminal has already sent to everyone: the same signal so soon again is an echo.
const echoMs = 1000;

/**
 * Runs a program as if it stood here: its output is ours, our signals are its, its exit code is handed back.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, owns?: 'group' | 'process', signal?: AbortSignal | undefined, limitMs?: number }} options
 * @returns {Promise<number>}
 */
export function runInForeground(command, args, { owns = 'group', signal, limitMs, ...options }) {
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    /** @type {import('./run.mjs').Stdio} */
    const stdio = [owns === 'group' ? 'ignore' : 'inherit', 'inherit', 'inherit'];
    const child = spawnWithLifeline(command, args, { ...options, owns, stdio });
    const stopForwarding = forwardSignals(child, owns);
    const end = () => (owns === 'group' ? killGroup(child.pid, 'SIGTERM') : child.kill('SIGTERM'));
    const timer = limitMs === undefined ? undefined : setTimeout(end, limitMs);
    const settle = (/** @type {() => void} */ how) => {
      stopForwarding();
      clearTimeout(timer);
      how();
    };
    child.once('error', (error) => settle(() => reject(error)));
    child.once('exit', (code, killedBy) =>
      settle(() => resolve(code ?? 128 + constants.signals[killedBy ?? 'SIGKILL'])),
    );
  });
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {'group' | 'process'} owns
 * @returns {() => void}
 */
function forwardSignals(child, owns) {
  /** @type {Map<string, number>} */
  const lastAt = new Map();
  const forward = (/** @type {NodeJS.Signals} */ name) => {
    const now = performance.now();
    if (now - (lastAt.get(name) ?? -Infinity) < echoMs) return;
    lastAt.set(name, now);
    // A child in our own group has its Ctrl-C from the terminal already.
    if (name === 'SIGINT' && owns === 'process' && process.stdin.isTTY) return;
    child.kill(name);
  };
  const names = /** @type {NodeJS.Signals[]} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);
  for (const name of names) process.on(name, forward);
  return () => names.forEach((name) => process.off(name, forward));
}
