import { readFileSync } from 'node:fs';
import { identify, isAlive, parseStat } from './process-identity.mjs';

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
