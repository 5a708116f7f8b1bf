// Who needs the private servers. The keeper stops them when nobody is left.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { stackFolder } from '../setup/paths.mjs';
import { identify, isAlive } from '../setup/process-identity.mjs';
import { readIdentity, writeIdentity } from './state.mjs';

const folder = () => stackFolder('users');
const pinFile = () => join(folder(), 'pinned');

/** Counts this process among the users until it ends, however it ends. */
export function registerUser() {
  const path = join(folder(), String(process.pid));
  writeIdentity(path, identify(process.pid));
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
 * @param {import('./state.mjs').ProcessIdentity} keeper
 */
export const pin = (keeper) => writeIdentity(pinFile(), keeper);
export const unpin = () => rmSync(pinFile(), { force: true });

/** @param {import('./state.mjs').ProcessIdentity | undefined} keeper */
export function isPinned(keeper) {
  const pinned = readIdentity(pinFile());
  return pinned !== undefined && pinned.pid === keeper?.pid && pinned.startTime === keeper?.startTime;
}
