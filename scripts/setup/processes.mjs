import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, SetupError } from './errors.mjs';

// Handed over as text: the user that a server runs as may have no way to the file.
// Without comments, because `ps` shows it.
const lifeline = readFileSync(new URL('lifeline.sh', import.meta.url), 'utf8').replace(/^\s*#.*\n/gm, '');
const hasLifeline = process.platform !== 'win32';
const keptCharacters = 2_000_000;

/** @typedef {(import('node:child_process').IOType | number)[]} Stdio  a number is that of an open file */

/**
 * Starts a program that ends when this process dies, even by SIGKILL.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {Omit<import('node:child_process').SpawnOptions, 'stdio'> & { owns: 'group' | 'process', stdio: Stdio }} options
 *   `group`: leads a process group of its own, which ends as a whole; `process`: stays in ours, so a
 *   terminal's Ctrl-C reaches it and it may read the terminal
 * @returns {import('node:child_process').ChildProcess}
 */
export function spawnWithLifeline(command, args, { owns, stdio, ...options }) {
  if (!hasLifeline) return spawn(command, args, { ...options, stdio, shell: command.endsWith('.cmd') });
  const child = spawn('sh', ['-c', lifeline, 'lifeline.sh', owns, command, ...args], {
    ...options,
    stdio: [...stdio.slice(0, 3), 'pipe'],
    detached: owns === 'group',
  });
  const pipe = /** @type {import('node:net').Socket} */ (child.stdio[3]);
  pipe.on('error', () => {}); // The far end is gone with the child: nothing is left to tell.
  child.once('exit', () => (owns === 'group' ? endGroup(child.pid, pipe) : pipe.end('done\n')));
  child.once('error', () => pipe.destroy());
  return child;
}

/**
 * The watcher is still in the group, so the number of the group cannot have been given to a stranger.
 *
 * @param {number | undefined} pid
 * @param {import('node:net').Socket} pipe
 */
function endGroup(pid, pipe) {
  killGroup(pid, 'SIGKILL');
  pipe.destroy();
}

/**
 * @param {number | undefined} pid
 * @param {NodeJS.Signals} signal
 */
export function killGroup(pid, signal) {
  if (pid === undefined) return;
  try {
    process.kill(hasLifeline ? -pid : pid, signal);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}

/**
 * Runs a program to its end, within a time limit, and hands back what it printed.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ limitMs: number, signal?: AbortSignal | undefined, cwd?: string, env?: NodeJS.ProcessEnv, uid?: number,
 *   gid?: number, input?: string, logFile?: string, what?: string, remedy?: string, niceness?: number }} options
 *   `niceness`: how much it stands back behind other programs
 * @returns {Promise<string>} its stdout; an error shows the end of both
 */
export function run(command, args, { limitMs, signal, input, logFile, what, remedy, niceness = 0, ...options }) {
  signal?.throwIfAborted();
  const name = what ?? [command, ...args].join(' ');
  return new Promise((resolve, reject) => {
    /** @type {Stdio} */
    const stdio = [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'];
    const child = spawnWithLifeline(command, args, { ...options, owns: 'group', stdio });
    if (niceness > 0 && child.pid !== undefined) setPriority(child.pid, niceness);
    let [output, printed] = ['', ''];
    const take = (/** @type {string} */ chunk) => {
      printed = (printed + chunk).slice(-keptCharacters);
      if (logFile) appendFileSync(logFile, chunk);
    };
    // Decoded by the stream: a character may lie across two chunks.
    child.stdout?.setEncoding('utf8').on('data', (/** @type {string} */ chunk) => {
      output = (output + chunk).slice(-keptCharacters);
      take(chunk);
    });
    child.stderr?.setEncoding('utf8').on('data', take);
    child.stdin?.end(input);
    const stop = limitChild(child, limitMs, signal);
    child.once('error', (cause) => reject(failure(`${name} could not be started`, { cause, remedy })));
    child.once('close', (code, killedBy) => {
      const ended = stop();
      if (ended === 'aborted') return reject(asError(signal?.reason));
      if (code === 0) return resolve(output);
      const how =
        ended === 'late' ? `took longer than ${limitMs / 1000} s` : `ended with ${killedBy ?? `code ${code}`}`;
      const logTail = printed.split(/\r?\n|\r/).filter((line) => line.trim() !== '');
      reject(failure(`${name} ${how}`, { logTail: logTail.slice(-30), logFile, remedy }));
    });
  });
}

const asError = (/** @type {unknown} */ reason) =>
  reason instanceof Error ? reason : new Error('aborted', { cause: reason });

/** @typedef {import('./errors.mjs').SetupErrorDetails} SetupErrorDetails */
const failure = (/** @type {string} */ message, /** @type {SetupErrorDetails} */ details) =>
  new SetupError('COMMAND_FAILED', message, details);

/** @typedef {'late' | 'aborted'} Ended */

/**
 * Ends the child's group at the limit or on abort.
 *
 * @param {import('node:child_process').ChildProcess} child
 * @param {number} limitMs
 * @param {AbortSignal | undefined} signal
 * @returns {() => Ended | undefined}
 */
function limitChild(child, limitMs, signal) {
  /** @type {Ended | undefined} */
  let ended;
  const end = (/** @type {Ended} */ how) => {
    ended ??= how;
    killGroup(child.pid, 'SIGKILL');
  };
  const onAbort = () => end('aborted');
  const timer = setTimeout(() => end('late'), limitMs);
  signal?.addEventListener('abort', onAbort);
  return () => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
    return ended;
  };
}

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
    /** @type {Stdio} */
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

/** @typedef {{ pid: number, startTime: string }} ProcessIdentity */

/**
 * A pid alone may be reused by a stranger; pid and start time together may not.
 *
 * @param {string} stat  the content of /proc/<pid>/stat
 * @returns {{ state: string, parent: number, startTime: string }} start time in clock ticks since the boot
 */
export function parseStat(stat) {
  // The second field is the program's name in brackets and may hold spaces and brackets itself.
  const afterName = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state: afterName[0] ?? '', parent: Number(afterName[1]), startTime: afterName[19] ?? '' };
}

/** @param {number} pid @returns {string} '' where there is no /proc: there the pid alone has to do */
function readStartTime(pid) {
  try {
    const { state, startTime } = parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    // Dead, and its parent has not asked how yet.
    return state === 'Z' ? 'zombie' : startTime;
  } catch {
    return '';
  }
}

/** @type {(pid: number) => ProcessIdentity} */
export const identify = (pid) => ({ pid, startTime: readStartTime(pid) });

/**
 * @param {ProcessIdentity | undefined} identity
 * @returns {boolean}
 */
export function isAlive(identity) {
  if (!identity || !Number.isInteger(identity.pid)) return false;
  try {
    process.kill(identity.pid, 0);
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return false;
  }
  return !identity.startTime || readStartTime(identity.pid) === identity.startTime;
}

/**
 * @param {ProcessIdentity | undefined} identity
 * @param {NodeJS.Signals} signal
 * @param {{ group?: boolean }} [options]  the whole group that the process leads
 */
export function signalProcess(identity, signal, { group = false } = {}) {
  if (!identity || !isAlive(identity)) return;
  try {
    // Windows has no process groups.
    process.kill(group && process.platform !== 'win32' ? -identity.pid : identity.pid, signal);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}

/**
 * @template {readonly [] | readonly ((signal: AbortSignal) => Promise<unknown>)[]} T
 * @typedef {{ [K in keyof T]: Awaited<ReturnType<T[K]>> }} Results
 */

/**
 * Runs several steps side by side. When one fails the others are told to stop and waited for, so that nothing
 * goes on behind the error message.
 *
 * @template {readonly [] | readonly ((signal: AbortSignal) => Promise<unknown>)[]} T
 * @param {AbortSignal | undefined} signal
 * @param {T} steps
 * @returns {Promise<Results<T>>}
 */
export async function together(signal, steps) {
  const controller = new AbortController();
  const either = AbortSignal.any(signal ? [signal, controller.signal] : [controller.signal]);
  /** @type {unknown[]} */
  const errors = [];
  const results = await Promise.allSettled(
    steps.map((step) =>
      step(either).catch((error) => {
        errors.push(error);
        controller.abort(error);
      }),
    ),
  );
  if (errors.length > 0) throw errors[0];
  /** @type {unknown} */
  const values = results.map((result) => (result.status === 'fulfilled' ? result.value : undefined));
  return /** @type {Results<T>} */ (values);
}

/**
 * Asks again and again until the answer is truthy. Bounded, and ended by the signal.
 *
 * @template T
 * @param {() => T | Promise<T>} ask
 * @param {{ everyMs?: number, limitMs: number, signal?: AbortSignal | undefined }} options
 * @returns {Promise<T | undefined>} undefined when the limit has passed
 */
export async function waitUntil(ask, { everyMs = 200, limitMs, signal }) {
  const end = performance.now() + limitMs;
  for (;;) {
    signal?.throwIfAborted();
    const answer = await ask();
    if (answer) return answer;
    if (performance.now() > end) return undefined;
    await sleep(everyMs, undefined, { signal });
  }
}

/**
 * @param {number} port
 * @param {string} [host]
 * @param {number} [limitMs]
 * @returns {Promise<boolean>} whether something accepts connections there
 */
export function canConnect(port, host = '127.0.0.1', limitMs = 2000) {
  return new Promise((resolve) => {
    const socket = connect({ port, host });
    const answer = (/** @type {boolean} */ open) => {
      socket.destroy();
      resolve(open);
    };
    socket.setTimeout(limitMs, () => answer(false));
    socket.once('connect', () => answer(true));
    socket.once('error', () => answer(false));
  });
}
