// Who needs the private servers. The keeper stops them when nobody is left.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJson, writeJson } from '../setup/files.mjs';
import { stackFolder } from '../setup/paths.mjs';
import { identify, isAlive } from '../setup/process-identity.mjs';

/** @typedef {import('../setup/process-identity.mjs').ProcessIdentity} ProcessIdentity */

const folder = () => stackFolder('users');
const pinFile = () => join(folder(), 'pinned');
const readIdentity = (/** @type {string} */ path) => /** @type {ProcessIdentity | undefined} */ (readJson(path));

/** Counts this process among the users until it ends, however it ends. */
export function registerUser() {
  const path = join(folder(), String(process.pid));
  writeJson(path, identify(process.pid));
  process.on('exit', () => rmSync(path, { force: true }));
}

/** @returns {number[]} pids of living users; what the dead left is removed */
export function livingUsers() {
  const pids = readdirSync(folder()).filter((name) => /^\d+$/.test(name));
  /** @type {[string[], string[]]} */
  const [alive, dead] = [[], []];
  for (const pid of pids) (isAlive(readIdentity(join(folder(), pid))) ? alive : dead).push(pid);
  for (const pid of dead) rmSync(join(folder(), pid), { force: true });
  return alive.map(Number);
}

/**
 * Keeps the servers running without users. Bound to one keeper: after a reboot nothing is pinned.
 *
 * @param {ProcessIdentity} keeper
 */
export const pin = (keeper) => writeJson(pinFile(), keeper);
export const unpin = () => rmSync(pinFile(), { force: true });

/** @param {ProcessIdentity | undefined} keeper */
export function isPinned(keeper) {
  const pinned = readIdentity(pinFile());
  return pinned !== undefined && pinned.pid === keeper?.pid && pinned.startTime === keeper?.startTime;
}
