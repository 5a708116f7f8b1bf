import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from '../setup/lock.mjs';
import { openFolder, stackFolder } from '../setup/paths.mjs';
import { noteWhileWaiting } from '../setup/progress.mjs';
import { run } from '../setup/run.mjs';
import { SetupError } from '../setup/setup-error.mjs';
import { findRabbitmq } from '../stack/rabbitmq-installation.mjs';
import { relocateErlang } from '../stack/relocate-erlang.mjs';
import { bindToOwnLibraries } from './own-libraries.mjs';
import { isOfSeries } from './series.mjs';
import { fetchSuitePackages } from './suite-packages.mjs';

const unpackLimitMs = 60_000;

/** @typedef {import('../stack/rabbitmq-installation.mjs').RabbitmqInstallation} RabbitmqInstallation */

/**
 * A RabbitMQ of the series: the one that the tests use already if it is of it, else the packages of the series'
 * suite, unpacked below `home` and kept there.
 *
 * @param {import('./series.mjs').Series} series
 * @param {import('../setup/progress.mjs').StepOptions & { home: string, shared: boolean }} options
 *   `shared`: another user runs the servers and must be able to read the files
 * @returns {Promise<RabbitmqInstallation>}
 */
export async function obtainSeries(series, { home, shared, signal, note }) {
  const target = join(openFolder(join(home, 'brokers')), series.name);
  const find = () => {
    const candidates = [findRabbitmq('/'), findRabbitmq(join(home, 'rabbitmq')), unpackedIn(target)];
    return candidates.find((found) => found && isOfSeries(found.version, series));
  };
  const found = find();
  if (found) return found;
  const whileWaiting = noteWhileWaiting(note, 'waiting for the download');
  return withLock(`rabbitmq-${series.name}`, { limitMs: 6 * 60_000, signal, whileWaiting }, async () => {
    if (!find()) await download(series, { target, shared, signal, note });
    const made = find();
    if (made) return made;
    throw new SetupError(
      'WRONG_SERIES',
      `${series.suite} has RabbitMQ ${unpackedIn(target)?.version} now, not ${series.name}`,
      {
        remedy: 'give the series another suite in scripts/brokers/series.mjs',
      },
    );
  });
}

/** What brings its own C library must not meet the machine's by LD_LIBRARY_PATH. @param {string} target */
function unpackedIn(target) {
  const found = findRabbitmq(target);
  return found && { ...found, libraryFolders: [] };
}

/**
 * @param {import('./series.mjs').Series} series
 * @param {import('../setup/progress.mjs').StepOptions & { target: string, shared: boolean }} options
 */
async function download({ name, suite }, { target, shared, signal, note }) {
  const work = `${target}.download`;
  const logFile = join(stackFolder('log'), `rabbitmq-${name}-download.log`);
  for (const path of [work, target]) rmSync(path, { recursive: true, force: true });
  try {
    const packages = await fetchSuitePackages({ suite, work, logFile, signal, note });
    note?.(`unpacking ${packages.length} packages`);
    const unpacked = join(work, 'root');
    for (const path of packages) await run('dpkg', ['-x', path, unpacked], { limitMs: unpackLimitMs, signal });
    relocateErlang(unpacked);
    bindToOwnLibraries(unpacked, target);
    // A strict umask would lock out the user that the servers run as.
    if (shared) await run('chmod', ['-R', 'a+rX', unpacked], { limitMs: unpackLimitMs, signal });
    renameSync(unpacked, target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
