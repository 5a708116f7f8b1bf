import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from '../setup/lock.mjs';
import { noteWhileWaiting } from '../setup/progress.mjs';
import { logTailOf, SetupError } from '../setup/setup-error.mjs';
import { newPackages, unpackPackages } from './debian-packages.mjs';
import { findLibraryFolders } from './rabbitmq-installation.mjs';

/** @typedef {{ command: string, libraryFolders: string[] }} PgbouncerInstallation */

const remedy = 'install PgBouncer (apt-get install pgbouncer)';

/** @param {string} root @returns {PgbouncerInstallation | undefined} */
function findPgbouncer(root) {
  const command = join(root, 'usr/sbin/pgbouncer');
  return existsSync(command) ? { command, libraryFolders: findLibraryFolders(root) } : undefined;
}

/** Its libraries, and not what Debian's service around it needs. @param {(args: string[]) => Promise<string>} apt */
async function resolvePackages(apt) {
  const names = newPackages(await apt(['--simulate', 'install', '--no-install-recommends', 'pgbouncer']));
  return names.filter((name) => name === 'pgbouncer' || (name.startsWith('lib') && !name.endsWith('-perl')));
}

/**
 * The installed PgBouncer, else one unpacked below `home`, downloaded the first time.
 *
 * @param {import('../setup/progress.mjs').StepOptions & { home: string, shared: boolean }} options
 * @returns {Promise<PgbouncerInstallation>}
 */
export async function obtainPgbouncer({ home, shared, signal, note }) {
  const target = join(home, 'pgbouncer');
  const find = () => findPgbouncer('/') ?? findPgbouncer(target);
  const found = find();
  if (found) return found;
  const whileWaiting = noteWhileWaiting(note, 'waiting for the download');
  return withLock('pgbouncer-download', { limitMs: 6 * 60_000, signal, whileWaiting }, async () => {
    if (!find()) await download({ target, shared, signal, note });
    const made = find();
    if (!made) throw noPgbouncer();
    return made;
  });
}

/** @param {import('../setup/progress.mjs').StepOptions & { target: string, shared: boolean }} options */
async function download(options) {
  try {
    await unpackPackages({ ...options, log: 'pgbouncer-download', resolve: resolvePackages });
  } catch (error) {
    throw options.signal?.aborted ? error : noPgbouncer(error);
  }
}

/** @param {unknown} [cause] */
function noPgbouncer(cause) {
  const what = 'PgBouncer is neither installed nor to be had from apt';
  return new SetupError('NO_PGBOUNCER', what, { remedy, logTail: logTailOf(cause), cause });
}
