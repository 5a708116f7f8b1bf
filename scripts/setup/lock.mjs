import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { codeOf, SetupError } from './errors.mjs';
import { parseJson, readJson } from './files.mjs';
import { repository, stackFolder } from './paths.mjs';
import { identify, isAlive, waitUntil } from './processes.mjs';

// A lock file is written right after it was created: empty for longer than this means its owner died in between.
const emptyForMs = 5000;

/**
 * @typedef {import('./processes.mjs').ProcessIdentity & { clone?: string, command?: string }} LockOwner
 *   `clone`: its folder; a copied clone brings along the locks of the original
 */

/** @param {string} path */
function createOwned(path) {
  const command = process.argv.slice(1).map((part, index) => (index === 0 ? basename(part) : part));
  /** @type {LockOwner} */
  const self = { ...identify(process.pid), clone: repository, command: command.join(' ') };
  try {
    writeFileSync(path, JSON.stringify(self), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** @param {string} path */
function isStale(path) {
  try {
    const text = readFileSync(path, 'utf8');
    if (text === '') return Date.now() - statSync(path).mtimeMs > emptyForMs;
    const owner = /** @type {LockOwner} */ (parseJson(text));
    return (owner.clone ?? repository) !== repository || !isAlive(owner);
  } catch {
    return false;
  }
}

/**
 * Removes the lock of a dead owner. Only one process at a time may do so: otherwise the second one
 * could remove the lock that a third has just taken.
 *
 * @param {string} path
 */
function breakIfStale(path) {
  if (!isStale(path)) return;
  const breaking = `${path}.breaking`;
  if (!createOwned(breaking)) {
    if (isStale(breaking)) rmSync(breaking, { force: true });
    return;
  }
  if (isStale(path)) rmSync(path, { force: true });
  rmSync(breaking, { force: true });
}

/**
 * @param {string} name
 * @returns {Release | undefined} what releases the lock, or undefined when another process holds it
 */
export function tryLock(name) {
  const path = lockFile(name);
  breakIfStale(path);
  if (!createOwned(path)) return undefined;
  const release = () => {
    process.off('exit', release);
    rmSync(path, { force: true });
  };
  process.on('exit', release);
  return release;
}

/** @param {string} name @returns {string} */
const lockFile = (name) => join(stackFolder('locks'), `${name}.lock`);

/** @param {string} name @returns {string} who holds the lock now, in words */
function holderOf(name) {
  const owner = /** @type {LockOwner | undefined} */ (readJson(lockFile(name)));
  if (!owner) return 'a process that just ended';
  return `pid ${owner.pid}${owner.command ? ` (${owner.command})` : ''} in ${owner.clone ?? repository}`;
}

/** @typedef {() => void} Release */
/**
 * @typedef {(wait: () => Promise<Release | undefined>, holder: string) => Promise<Release | undefined>} WhileWaiting
 *   `holder`: pid, command, and folder of the process that is waited for
 */

/**
 * One process of this clone at a time.
 *
 * @template T
 * @param {string} name
 * @param {{ limitMs: number, signal?: AbortSignal | undefined, whileWaiting?: WhileWaiting | undefined }} options
 *   `whileWaiting` shows that somebody else has the lock; not called when it is free
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(name, { limitMs, signal, whileWaiting = (wait) => wait() }, work) {
  const wait = () => waitUntil(() => tryLock(name), { limitMs, signal });
  const release = tryLock(name) ?? (await whileWaiting(wait, holderOf(name)));
  if (!release) throw heldTooLong(name, limitMs);
  try {
    return await work();
  } finally {
    release();
  }
}

/** @param {string} name @param {number} limitMs */
function heldTooLong(name, limitMs) {
  const holder = holderOf(name);
  return new SetupError('LOCKED', `${holder} has held the lock "${name}" for more than ${limitMs / 1000} s`, {
    remedy: `end that run, or remove ${lockFile(name)}`,
  });
}
