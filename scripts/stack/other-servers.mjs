import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { newPackages, obtainOnce, unpackPackages } from './debian-packages.mjs';
import { makeServerFolder, writeServerFile } from './place.mjs';
import { findLibraryFolders } from './rabbitmq.mjs';

/** @typedef {{ command: string, libraryFolders: string[] }} PgbouncerInstallation */

const noPgbouncer = {
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
async function pgbouncerPackages(apt) {
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
    ...{ ...options, name: 'pgbouncer', limitMs: 6 * 60_000, missing: noPgbouncer },
    find: () => findPgbouncer('/') ?? findPgbouncer(target),
    download: () => unpackPackages({ ...options, target, log: 'pgbouncer-download', resolve: pgbouncerPackages }),
  });
}

/**
 * A PgBouncer that pools by transaction, before the server of a URL. Each login of the URLs may use it.
 *
 * @param {object} options
 * @param {string} options.directory
 * @param {number} options.basePort
 * @param {string[]} options.urls  logins of one and the same server
 * @param {PgbouncerInstallation} options.installation
 * @param {import('./place.mjs').ServerUser | undefined} [options.user]
 * @returns {import('./supervisor.mjs').ServerSpec}
 */
export function pgbouncerServer({ directory, basePort, urls, installation, user }) {
  const { hostname, port } = new URL(urls[0] ?? '');
  const logins = urls.map((url) => new URL(url)).map((url) => `"${url.username}" "${url.password}"`);
  const [file, userFile] = [join(directory, 'pgbouncer.ini'), join(directory, 'users.txt')];
  writeServerFile(userFile, `${logins.join('\n')}\n`, user);
  const settings = [
    '[databases]',
    `* = host=${hostname} port=${port || 5_432}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${basePort}`,
    'unix_socket_dir =',
    'auth_type = scram-sha-256',
    `auth_file = ${userFile}`,
    'pool_mode = transaction',
    'default_pool_size = 10',
    'max_client_conn = 200',
  ];
  writeServerFile(file, `${settings.join('\n')}\n`, user);
  const { command, libraryFolders } = installation;
  const libraries = libraryFolders.join(':');
  return {
    name: 'pgbouncer',
    command,
    args: [file],
    cwd: directory,
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', ...(libraries && { LD_LIBRARY_PATH: libraries }) },
    user,
    ports: [basePort],
    stopSignal: 'SIGTERM',
    stopLimitMs: 2_000,
    startLimitMs: 10_000,
    logFile: join(directory, 'pgbouncer.log'),
    access: { address: `127.0.0.1:${basePort}` },
  };
}

/** @typedef {{ prometheus: string, promtool: string }} PrometheusInstallation  paths of the two programs */

const noPrometheus = {
  code: 'NO_PROMETHEUS',
  message: 'prometheus and promtool are neither in PATH nor to be had from apt',
  remedy: 'install Prometheus (apt-get install prometheus), or put both programs into PATH',
};

/** @param {string[]} folders @returns {PrometheusInstallation | undefined} from the first folder that has both */
export function findPrometheus(folders = (process.env.PATH ?? '').split(delimiter)) {
  const found = folders.map((folder) => ({
    prometheus: join(folder, 'prometheus'),
    promtool: join(folder, 'promtool'),
  }));
  return found.find(({ prometheus, promtool }) => existsSync(prometheus) && existsSync(promtool));
}

/**
 * The Prometheus in PATH, else Debian's, unpacked below `home` and downloaded the first time. Its programs need none of
 * the packages that its web pages depend on.
 *
 * @param {import('../setup/progress.mjs').StepOptions & { home: string, shared: boolean }} options
 * @returns {Promise<PrometheusInstallation>}
 */
export function obtainPrometheus({ home, ...options }) {
  const target = join(home, 'prometheus');
  const resolve = async () => ['prometheus'];
  return obtainOnce({
    ...{ ...options, name: 'prometheus', limitMs: 6 * 60_000, missing: noPrometheus },
    find: () => findPrometheus() ?? findPrometheus([join(target, 'usr/bin')]),
    download: () => unpackPackages({ ...options, target, log: 'prometheus-download', resolve }),
  });
}

/**
 * @param {object} options
 * @param {string} options.directory
 * @param {number} options.basePort
 * @param {{ 'prometheus.yml': string } & Record<string, string>} options.files  texts of the configuration and of what it names, by name
 * @param {PrometheusInstallation} options.installation
 * @param {import('./place.mjs').ServerUser | undefined} [options.user]
 * @returns {import('./supervisor.mjs').ServerSpec}
 */
export function prometheusServer({ directory, basePort, files, installation, user }) {
  const data = makeServerFolder(join(directory, 'data'), user);
  for (const [name, text] of Object.entries(files)) writeServerFile(join(directory, name), text, user);
  const address = `127.0.0.1:${basePort}`;
  return {
    name: 'prometheus',
    command: installation.prometheus,
    args: [
      `--config.file=${join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${data}`,
      `--web.listen-address=${address}`,
    ],
    cwd: directory,
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    user,
    ports: [basePort],
    stopSignal: 'SIGTERM',
    stopLimitMs: 5_000,
    startLimitMs: 30_000,
    logFile: join(directory, 'prometheus.log'),
    access: { url: `http://${address}` },
  };
}

const noRedis = {
  code: 'NO_REDIS',
  message: 'Redis is neither installed nor to be had from apt',
  remedy: 'install Redis (apt-get install redis-server), or measure without the peers',
};

/** @param {string} binary whether it starts on this machine */
const isUsable = (binary) => existsSync(binary) && spawnSync(binary, ['--version']).status === 0;

/**
 * The installed redis-server, else Debian's, unpacked below `home`, downloaded the first time.
 *
 * @param {import('../setup/progress.mjs').StepOptions & { home: string }} options
 * @returns {Promise<string>} path of a program that takes the arguments of redis-server
 */
export function obtainRedis({ home, ...options }) {
  const target = join(home, 'redis');
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', target];
  const relocate = (/** @type {string} */ unpacked) => writeStartScript(target, unpacked);
  return obtainOnce({
    ...{ ...options, name: 'redis', limitMs: 6 * 60_000, missing: noRedis },
    find: () => folders.map((folder) => join(folder, 'redis-server')).find(isUsable),
    // A strict umask would lock out the user that the servers run as.
    download: () =>
      unpackPackages({ ...options, target, shared: true, log: 'redis-download', resolve: redisPackages, relocate }),
  });
}

/** The server and the libraries that the machine lacks. @param {(args: string[]) => Promise<string>} apt */
async function redisPackages(apt) {
  const all = newPackages(await apt(['--simulate', 'install', '--no-install-recommends', 'redis-server']));
  return all.filter((name) => /^(redis-|lib)/.test(name));
}

/** What came along is not where the dynamic loader looks. @param {string} target @param {string} unpacked */
function writeStartScript(target, unpacked) {
  const folders = findLibraryFolders(unpacked).map((folder) => folder.replace(unpacked, target));
  const call = `LD_LIBRARY_PATH="${folders.join(':')}" exec "${join(target, 'usr/bin/redis-server')}" "$@"`;
  writeFileSync(join(unpacked, 'redis-server'), `#!/bin/sh\n${call}\n`, { mode: 0o755 });
}

/**
 * @param {object} options
 * @param {string} options.directory
 * @param {number} options.basePort
 * @param {string} options.command  takes the arguments of redis-server
 * @param {string} options.appendfsync
 * @param {import('./place.mjs').ServerUser | undefined} [options.user]
 * @returns {import('./supervisor.mjs').ServerSpec}
 */
export function redisServer({ directory, basePort, command, appendfsync, user }) {
  const settings = {
    bind: '127.0.0.1',
    port: basePort,
    dir: directory,
    appendonly: 'yes',
    appendfsync,
    // Snapshots would be a second log beside the append-only file.
    save: '',
  };
  return {
    name: 'throw-away Redis',
    command,
    args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
    cwd: directory,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' },
    user,
    ports: [basePort],
    stopSignal: 'SIGTERM',
    stopLimitMs: 5_000,
    startLimitMs: 10_000,
    logFile: join(directory, 'redis.log'),
    access: { redisUrl: `redis://127.0.0.1:${basePort}` },
  };
}
