import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../setup/run.mjs';
import { userName } from './secrets.mjs';
import { makeServerFolder, writeServerFile } from './server-user.mjs';

const databaseName = 'order_timeout';
const limitMs = 60_000;
/** Windows starts no program without the place of its own libraries. */
const place =
  process.platform === 'win32'
    ? { PATH: process.env.PATH ?? '', SystemRoot: process.env.SystemRoot ?? '' }
    : { PATH: '/usr/local/bin:/usr/bin:/bin' };
const environment = { ...place, LC_ALL: 'C', TZ: 'UTC' };

/** @typedef {{ url: string, version: string, directory: string }} PostgresAccess */
/**
 * @typedef {{ bin: string, directory: string, password: string,
 *   user?: import('./server-user.mjs').ServerUser | undefined }} ClusterOptions
 */

/**
 * Makes a cluster with our user and database in it. Aside and then renamed: one that was cut short is never used.
 *
 * @param {ClusterOptions & { signal?: AbortSignal | undefined }} options
 */
async function initialise({ bin, directory, password, user, signal }) {
  const cluster = join(directory, 'cluster');
  const options = { ...user, env: environment, cwd: directory, limitMs, signal };
  if (existsSync(cluster)) return addUser({ bin, directory, password, user, options });
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
  writeServerFile(userFile(directory), userName, user);
}

/** Names the user that a cluster has for us. */
const userFile = (/** @type {string} */ directory) => join(directory, 'user');

/**
 * To a cluster that an earlier release has made for a user with another name, who cannot be renamed.
 *
 * @param {ClusterOptions & { options: Parameters<typeof run>[2] }} options
 */
async function addUser({ bin, directory, password, user, options }) {
  const file = userFile(directory);
  if (existsSync(file) && readFileSync(file, 'utf8') === userName) return;
  const input = [
    "SET password_encryption = 'scram-sha-256';",
    `CREATE ROLE ${userName} SUPERUSER LOGIN PASSWORD '${password}';`,
    '',
  ].join('\n\n');
  await run(join(bin, 'postgres'), ['--single', '-j', '-D', join(directory, 'cluster'), 'postgres'], {
    ...options,
    input,
  });
  writeServerFile(file, userName, user);
}

/**
 * @typedef {object} PostgresOptions
 * @property {string} name
 * @property {string} directory
 * @property {number} basePort
 * @property {string} password
 * @property {import('./postgres-installation.mjs').PostgresInstallation} installation
 * @property {import('./server-user.mjs').ServerUser | undefined} [user]
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
  await initialise({ bin: installation.bin, directory, password, user, signal });
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
