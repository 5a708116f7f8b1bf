import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { codeOf } from './error-code.mjs';
import { SetupError } from './setup-error.mjs';

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

/** @typedef {import('./setup-error.mjs').SetupErrorDetails} SetupErrorDetails */
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
