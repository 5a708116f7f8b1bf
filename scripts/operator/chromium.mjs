import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { run } from '../setup/run.mjs';
import { SetupError } from '../setup/setup-error.mjs';

const limitMs = 8 * 60_000;
const place = '/usr/bin/chromium';
/** The pictures are compared with pictures in these fonts. */
const packages = ['chromium', 'fonts-liberation', 'fonts-wqy-microhei'];

/**
 * Chromium of the variable CHROMIUM, or of the distribution, which is installed if it is missing.
 *
 * @param {import('../setup/progress.mjs').StepOptions} options
 * @returns {Promise<string>} its path
 */
export async function ensureChromium({ signal, note }) {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const missing = packages.filter((name) => !isInstalled(name));
  if (missing.length === 0 && existsSync(place)) return place;
  const command = `apt-get install --no-install-recommends ${missing.join(' ')}`;
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).status !== 0) {
    throw new SetupError('NO_CHROMIUM', `${missing.join(', ')} is not installed`, {
      remedy: `run ${command} as root, or set CHROMIUM to the path of a Chromium`,
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
  return place;
}

/** @param {string} name of a package of Debian */
function isInstalled(name) {
  const { stdout } = spawnSync('dpkg-query', ['-W', '-f=${Status}', name], { encoding: 'utf8' });
  return stdout?.includes('install ok installed') ?? false;
}
