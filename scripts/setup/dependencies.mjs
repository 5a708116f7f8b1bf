import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJson } from './files.mjs';
import { withLock } from './lock.mjs';
import { npm } from './npm.mjs';
import { repository, stackFolder } from './paths.mjs';
import { noteWhileWaiting, showProgress } from './progress.mjs';
import { run } from './run.mjs';

const limitMs = 10 * 60_000;

/** @typedef {{ packages?: Record<string, { version?: string, optional?: boolean, link?: boolean }> }} LockFile */

/**
 * npm writes what it installed into node_modules/.package-lock.json, as its very last step. Comparing it with
 * package-lock.json sees an install that was cut short, a changed lock file, and an install made manually.
 *
 * @param {LockFile | undefined} wanted     package-lock.json
 * @param {LockFile | undefined} installed  node_modules/.package-lock.json
 * @returns {boolean}
 */
export function isInstalled(wanted, installed) {
  const present = installed?.packages;
  if (!present) return false;
  return Object.entries(wanted?.packages ?? {}).every(([path, { version, optional, link }]) => {
    // The root and the workspaces are not installed; what is optional may be for another platform.
    if (!path.includes('node_modules/') || optional || link) return true;
    return present[path]?.version === version;
  });
}

const readLock = (/** @type {string[]} */ ...path) =>
  /** @type {LockFile | undefined} */ (readJson(join(repository, ...path)));
const areInstalled = () => isInstalled(readLock('package-lock.json'), readLock('node_modules', '.package-lock.json'));

/**
 * @param {{ signal?: AbortSignal | undefined }} [options]
 */
export async function ensureDependencies({ signal } = {}) {
  if (areInstalled()) return;
  await showProgress('dependencies (npm ci)', (note) =>
    withLock(
      'dependencies',
      { limitMs, signal, whileWaiting: noteWhileWaiting(note, 'another run installs them') },
      async () => {
        if (!areInstalled()) await install(signal);
      },
    ),
  );
}

/**
 * Installs the packages of a folder that has a package.json of its own, because most commands do not need them. Their
 * scripts do not run.
 *
 * @param {string} folder  below the repository
 * @param {string} what  in words
 * @param {AbortSignal} signal
 */
export async function ensurePackagesOf(folder, what, signal) {
  if (isInstalled(readLock(folder, 'package-lock.json'), readLock(folder, 'node_modules', '.package-lock.json')))
    return;
  const [command, args] = npm(['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund']);
  const options = { cwd: join(repository, folder), limitMs, signal, what: `npm ci in ${folder}` };
  await showProgress(`${what} (npm ci)`, () => run(command, args, options));
}

/** @param {AbortSignal | undefined} signal */
async function install(signal) {
  const logFile = join(stackFolder('log'), 'npm-ci.log');
  rmSync(logFile, { force: true });
  // Development packages too, whatever NODE_ENV says: they build and test.
  await run(...npm(['ci', '--include=dev', '--no-audit', '--no-fund']), {
    cwd: repository,
    limitMs,
    signal,
    logFile,
    what: 'npm ci',
    remedy: 'read what npm says above; is the package registry reachable (npm ping)?',
  });
}
