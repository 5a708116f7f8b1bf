import { spawnSync } from 'node:child_process';
import { run } from '../setup/run.mjs';
import { SetupError } from '../setup/setup-error.mjs';

const limitMs = 8 * 60_000;

/** @typedef {import('../setup/progress.mjs').StepOptions} StepOptions */

/**
 * Installs what is missing, if we may.
 *
 * @param {string[]} packages  of Debian
 * @param {StepOptions & { code: string, otherwise: string }} options  `code`: of the error; `otherwise`: what else a
 *   person can do
 */
export async function ensureDebianPackages(packages, { signal, note, code, otherwise }) {
  const missing = packages.filter((name) => !isInstalled(name));
  if (missing.length === 0) return;
  const command = `apt-get install --no-install-recommends ${missing.join(' ')}`;
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).status !== 0) {
    throw new SetupError(code, `${missing.join(', ')} is not installed`, {
      remedy: `run ${command} as root, or ${otherwise}`,
    });
  }
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  note?.('reading the lists of packages');
  await run('apt-get', ['update'], { limitMs, signal, env });
  note?.(`installing ${missing.join(', ')}`);
  await run('apt-get', ['install', '-y', '--no-install-recommends', ...missing], {
    limitMs,
    signal,
    env,
    what: command,
  });
}

/** @param {string} name */
function isInstalled(name) {
  const { stdout } = spawnSync('dpkg-query', ['-W', '-f=${Status}', name], { encoding: 'utf8' });
  return stdout?.includes('install ok installed') ?? false;
}
