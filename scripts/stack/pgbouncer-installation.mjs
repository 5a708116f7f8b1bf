import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { newPackages, unpackPackages } from './debian-packages.mjs';
import { obtainOnce } from './obtain-once.mjs';
import { findLibraryFolders } from './rabbitmq-installation.mjs';

/** @typedef {{ command: string, libraryFolders: string[] }} PgbouncerInstallation */

const missing = {
  code: 'NO_PGBOUNCER',
  message: 'PgBouncer is neither installed nor to be had from apt',
  remedy: 'install PgBouncer (apt-get install pgbouncer)',
};

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
export function obtainPgbouncer({ home, ...options }) {
  const target = join(home, 'pgbouncer');
  return obtainOnce({
    ...{ ...options, name: 'pgbouncer', limitMs: 6 * 60_000, missing },
    find: () => findPgbouncer('/') ?? findPgbouncer(target),
    download: () => unpackPackages({ ...options, target, log: 'pgbouncer-download', resolve: resolvePackages }),
  });
}
