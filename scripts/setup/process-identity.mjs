import { readFileSync } from 'node:fs';
import { codeOf } from './error-code.mjs';

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
